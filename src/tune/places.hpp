#pragma once
// Where tables lie.

#include <string>
#include <string_view>
#include <vector>

namespace espalier::tune {

/// The places looked at when no table is named, best first: the user's ("$XDG_CONFIG_HOME/espalier/table.json", where
/// an empty `xdg_config_home` means "$HOME/.config"; none without `home`), then the system's, "/etc/espalier".
std::vector<std::string> table_places(std::string_view xdg_config_home, std::string_view home);

/// The folders with more of them, "tables" beside each of the places: best first.
std::vector<std::string> store_folders(std::string_view xdg_config_home, std::string_view home);

/// Where what jobs learn is kept: `setting` (ESPALIER_STORE) where it names a folder, else the user's; empty when there
/// is none or when it is "off".
std::string probe_store(std::string_view setting);

/// All files that this process may use, best first: the one that `table` (ESPALIER_TABLE) names, or those at the places
/// and in the folders unless it is "off"; and what jobs have learned, unless `store` is "off". Looks at the folders.
std::vector<std::string> probe_table_files(std::string_view table, std::string_view store);

/// Files of that name hold what jobs have learned.
bool is_learned_name(std::string_view path);

}  // namespace espalier::tune
