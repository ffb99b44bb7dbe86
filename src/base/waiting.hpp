#pragma once
// How a rank waits for its neighbours.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class Waiting : std::uint8_t {
  spin,   ///< look, and keep the core
  yield,  ///< look for a while, then give the core away between looks
  futex,  ///< look for a while, then sleep until the neighbour wakes us
};

/// "spin", "yield" or "futex"; "auto" is what was fastest wherever we measured, which is yield. Throws Error.
Waiting parse_waiting(std::string_view text);

}  // namespace espalier
