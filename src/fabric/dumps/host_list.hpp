#pragma once
// Slurm's host lists: "tux[0-3,12],login", with leading zeros kept and several brackets allowed.

#include <string>
#include <string_view>
#include <vector>

namespace espalier::fabric {

/// The names that `text` stands for, in its order. Throws FabricError: bad_record when brackets or ranges are broken,
/// too_large beyond `most` names.
std::vector<std::string> expand_host_list(std::string_view text, std::size_t most);

/// A short text that expand_host_list reads back: neighbouring numbers become ranges.
std::string compress_host_list(const std::vector<std::string>& names);

}  // namespace espalier::fabric
