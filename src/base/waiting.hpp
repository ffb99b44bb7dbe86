#pragma once
// How a rank waits for its neighbours.

#include <cstdint>

namespace espalier {

enum class Waiting : std::uint8_t {
  auto_,  ///< yield, and where ranks share cores sleep once that has not helped for a while
  spin,   ///< look, and keep the core
  yield,  ///< look for a while, then give the core away between looks
  futex,  ///< look for a while, then sleep until the neighbour wakes us
};

}  // namespace espalier
