#pragma once
// Which programs the library serves, as sites set it: ESPALIER_ONLY and ESPALIER_NOT.

#include <string>
#include <string_view>

namespace espalier {

/// The file that this process runs, symbolic links resolved; empty where /proc does not say.
std::string probe_program();

/// Whether one of the patterns, between colons or commas, fits the program's path. As in fnmatch(3), `*` stands for
/// slashes, too; a pattern without a slash is held against the file's name. Empty patterns fit nothing.
bool fits_any(std::string_view patterns, const std::string& program);

/// Why the library leaves everything in this program to native, for a person; empty if it serves it. What `excluded`
/// fits is not served, and where `only` has patterns, nor is what it does not fit. A program without a path is served.
std::string why_not_served(const std::string& only, const std::string& excluded, const std::string& program);

}  // namespace espalier
