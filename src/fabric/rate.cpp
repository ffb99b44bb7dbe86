#include "fabric/rate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace espalier::fabric {
namespace {

// Signalling and data rate of a lane, 10^9 bit/s. 8b/10b coding up to QDR, 64b/66b up to EDR; from HDR on the forward
// error correction comes off too. FDR10 comes after QDR: the older tools print both as 10.
struct Generation {
  std::string_view name;
  double signalling;
  double data;
};
constexpr Generation kGenerations[] = {{"SDR", 2.5, 2},        {"DDR", 5, 4},           {"QDR", 10, 8},
                                       {"FDR10", 10.3125, 10}, {"FDR", 14.0625, 13.64}, {"EDR", 25.78125, 25},
                                       {"HDR", 53.125, 50},    {"NDR", 106.25, 100},    {"XDR", 212.5, 200}};

void set_name(Rate& rate, std::string_view name) {
  std::copy_n(name.begin(), std::min(name.size(), rate.speed.size() - 1), rate.speed.begin());
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string Rate::text() const {
  if (lanes == 0) return "?";
  return std::to_string(lanes) + "x" + speed.data();
}

Rate rate_of(int lanes, std::string_view speed) {
  Rate rate;
  rate.lanes = static_cast<std::uint8_t>(lanes);
  set_name(rate, speed);
  for (const auto& generation : kGenerations)
    if (generation.name == speed) rate.lane_gbps = generation.data;
  return rate;
}

Rate rate_of(int lanes, double signalling) {
  for (const auto& generation : kGenerations)
    if (std::abs(generation.signalling - signalling) < 1e-3 || std::trunc(generation.signalling) == signalling ||
        (signalling >= 50 && std::abs(generation.signalling / signalling - 1) < 0.07))
      return rate_of(lanes, generation.name);
  Rate rate;
  rate.lanes = static_cast<std::uint8_t>(lanes);
  rate.lane_gbps = signalling;
  char digits[16] = {};
  std::to_chars(digits, digits + sizeof digits - 1, static_cast<long>(std::min(signalling, 99999.0)));
  set_name(rate, std::string(digits) + "G");
  return rate;
}

std::optional<Rate> parse_rate(std::string_view text) {
  int lanes = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), lanes);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (status != std::errc{} || lanes < 1 || lanes > 255 || used >= text.size()) return std::nullopt;
  if (text[used] != 'x' && text[used] != 'X') return std::nullopt;
  const auto name = text.substr(used + 1);
  if (name.empty() || name.find_first_not_of('?') == std::string_view::npos) return rate_of(lanes, "?");
  if (!is_name(name)) return std::nullopt;
  return rate_of(lanes, name);
}

}  // namespace espalier::fabric
