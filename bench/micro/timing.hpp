#pragma once
// A stopwatch, and what the small benchmarks report of many times.

#include <algorithm>
#include <chrono>
#include <vector>

namespace espalier {

/// How long `work` takes, in microseconds.
template <class Work>
double microseconds(Work work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Of at least one; of an even number the upper one of the two in the middle.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace espalier
