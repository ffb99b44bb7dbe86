#pragma once
// Where tables lie.

#include <string>
#include <string_view>
#include <vector>

namespace espalier::tune {

/// The places looked at when no table is named, best first: the user's ("$XDG_CONFIG_HOME/espalier/table.json", where
/// an empty `xdg_config_home` means "$HOME/.config"; none without `home`), then the system's, "/etc/espalier".
std::vector<std::string> table_places(std::string_view xdg_config_home, std::string_view home);

/// The table this process is to use: `setting` (ESPALIER_TABLE) when it names one, whether the file exists or not; else
/// the first of the places with a readable file; empty when there is none or when `setting` is "off". Reads
/// XDG_CONFIG_HOME and HOME of the environment, which are not Espalier's settings, and looks at the files.
std::string probe_table_path(std::string_view setting);

}  // namespace espalier::tune
