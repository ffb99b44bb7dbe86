#pragma once
// Days, as tables tell them.

#include <string>
#include <string_view>

namespace espalier::tune {

/// Today, in days since 1970 (UTC).
int probe_day();
/// "2026-11-26", and back: throws Error where it is no such date.
std::string format_day(int day);
int parse_day(std::string_view text);

}  // namespace espalier::tune
