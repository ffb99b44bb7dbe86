#pragma once
// Texts of others: taken apart, and made fit to be shown.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// The text with what a terminal would obey written as \xNN: control characters (line ends too), those of ISO 6429's
/// second set, and bytes that are no UTF-8. For whatever comes from outside: services, dumps, tables, names of files
/// and hosts.
std::string printable(std::string_view text);

/// The parts between such characters: one more than there are of these.
std::vector<std::string_view> split(std::string_view text, char at);
/// Without their ends.
std::vector<std::string_view> split_lines(std::string_view text);
/// What blanks and ends of lines part.
std::vector<std::string_view> split_words(std::string_view text);

/// A whole number in decimal digits and nothing else; none: it is no such text, or does not fit.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// As a string of JSON, between its quotes. Bytes that are no UTF-8 stay.
std::string json_string(std::string_view text);

/// 64-bit FNV-1a of its bytes.
std::uint64_t hash_text(std::string_view text);

}  // namespace espalier
