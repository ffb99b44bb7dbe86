#include "base/bytes.hpp"

#include <cctype>
#include <charconv>

#include "base/error.hpp"

namespace espalier {
namespace {

// The power of two a unit letter stands for; -1 for anything else.
int unit_shift(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
    default: return -1;
  }
}

bool is_byte_suffix(std::string_view text) { return text.empty() || text == "B" || text == "b" || text == "iB"; }

}  // namespace

Bytes parse_bytes(std::string_view text) {
  const auto fail = [&](const char* why) -> Bytes {
    throw Error("'" + std::string(text) + "' is not a size in bytes (" + why + "): write 4096, 64K, 1M or 2G");
  };
  Bytes number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc::result_out_of_range) return fail("too large");
  if (status != std::errc{}) return fail("no number");
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (!rest.empty() && unit_shift(rest.front()) >= 0) {
    shift = unit_shift(rest.front());
    rest.remove_prefix(1);
  }
  if (!is_byte_suffix(rest)) return fail("unknown unit");
  if (shift > 0 && (number >> (64 - shift)) != 0) return fail("too large");
  return number << shift;
}

std::string format_bytes(Bytes bytes) {
  static constexpr struct {
    int shift;
    const char* letter;
  } units[] = {{30, "G"}, {20, "M"}, {10, "K"}};
  for (const auto& unit : units) {
    const Bytes one = Bytes{1} << unit.shift;
    if (bytes >= one && bytes % one == 0) return std::to_string(bytes >> unit.shift) + unit.letter;
  }
  return std::to_string(bytes);
}

}  // namespace espalier
