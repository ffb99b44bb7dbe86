#pragma once
// How long something takes, to be compared with how long it takes elsewhere in the same test: a limit in microseconds
// would hold on one machine and not on another, or under a sanitizer.

#include <algorithm>
#include <chrono>

namespace espalier::testing {

/// The shortest of many runs, in microseconds, half a microsecond at least: below that clocks decide.
template <class Run>
double shortest_us(Run run) {
  double shortest = 1e9;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, took.count());
  }
  return std::max(shortest, 0.5);
}

}  // namespace espalier::testing
