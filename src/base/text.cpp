#include "base/text.hpp"

#include <cstdio>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier {
namespace {

// Bytes of the character that begins here; 0 where no well-formed UTF-8 does.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  std::uint32_t code = first & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[bytes] || code > 0x10ffff || is_surrogate ? 0 : bytes;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

void append_escaped(unsigned char byte, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const auto character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (bytes == 0 || is_control(character)) {
      for (const char byte : character) append_escaped(static_cast<unsigned char>(byte), out);
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    }
  }
  return out + "\"";
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find_first_of(blanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  return hash;
}

}  // namespace espalier
