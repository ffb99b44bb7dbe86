#pragma once
// The rate of a link: lanes times speed. Speeds are an open set: a generation that we don't know keeps its name.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::fabric {

struct Rate {
  std::uint8_t lanes = 0;          ///< 1, 2, 4, 8 or 12; 0: not known
  std::array<char, 7> speed = {};  ///< "QDR", "FDR10"…, ended by zeros
  double lane_gbps = 0;            ///< data per lane in 10^9 bit/s, after line coding; 0: not known

  /// Data in 10^9 bit/s; 0 when not known.
  double gbps() const { return lanes * lane_gbps; }
  /// "4xQDR"; "?" when not known.
  std::string text() const;
  bool operator==(const Rate&) const = default;
};

/// What a byte takes, µs; 0 where the rate is not known. 1 Gbit/s is 125 bytes per µs.
inline double us_per_byte(double gbps) { return gbps == 0 ? 0 : 1 / (gbps * 125); }

/// Of two rates, 0 where one is not known.
inline double slower(double a, double b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

/// Reads "4xQDR". Nothing when it does not look like a rate; an unknown speed gives a rate of 0 Gbit/s under its name.
std::optional<Rate> parse_rate(std::string_view text);

/// `lanes` lanes of a speed by its name. A name longer than 6 characters is cut.
Rate rate_of(int lanes, std::string_view speed);

/// `lanes` lanes of a speed by its signalling rate in 10^9 bit/s as the tools print it, whole (25.78125) or cut to an
/// integer (25). What is no known generation is taken at its word.
Rate rate_of(int lanes, double signalling_gbps);

}  // namespace espalier::fabric
