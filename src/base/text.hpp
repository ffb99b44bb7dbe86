#pragma once
// Texts of others, made fit to be shown.

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

/// The text with what a terminal would obey written as \xNN: control characters (line ends too), those of ISO 6429's
/// second set, and bytes that are no UTF-8. For whatever comes from outside: services, dumps, tables, names of files
/// and hosts.
std::string printable(std::string_view text);

/// As a string of JSON, between its quotes. Bytes that are no UTF-8 stay.
std::string json_string(std::string_view text);

/// 64-bit FNV-1a of its bytes.
std::uint64_t hash_text(std::string_view text);

}  // namespace espalier
