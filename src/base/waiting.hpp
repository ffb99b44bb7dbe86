#pragma once
// How a rank waits for its neighbours.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class Waiting : std::uint8_t {
  automatic,  ///< yield, and where ranks share cores sleep once that has not helped for a while
  spin,       ///< look, and keep the core
  yield,      ///< look for a while, then give the core away between looks
  futex,      ///< look for a while, then sleep until the neighbour wakes us
};

/// "auto", "spin", "yield" or "futex". Throws Error.
Waiting parse_waiting(std::string_view text);

}  // namespace espalier
