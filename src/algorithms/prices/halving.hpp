#pragma once
// Rounds in which leaders halve what they combine.

#include "algorithms/prices/scene.hpp"

namespace espalier::algorithms {

/// Rounds in which leaders swap half, a quarter, … of what they have with ever farther ones: the largest parts with
/// neighbours by number, which on most jobs are on one switch.
inline double halved_time(const Scene& s, double bytes, int rounds) {
  double time = rounds * s.network.delay();
  for (int i = 0; i < rounds; ++i) time += s.carried_to(1 << i, bytes / (2 << i));
  return time;
}

}  // namespace espalier::algorithms
