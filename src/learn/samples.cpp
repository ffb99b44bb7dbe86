#include "learn/samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::learn {

std::vector<double> derive_times(std::span<const Sample> samples, std::size_t calls) {
  std::vector<double> times;
  times.reserve(calls);
  for (std::size_t call = 0; call < calls; ++call) {
    std::int64_t came = std::numeric_limits<std::int64_t>::min(), left = came;
    for (std::size_t at = call; at < samples.size(); at += calls) {
      came = std::max(came, samples[at].came);
      left = std::max(left, samples[at].left);
    }
    times.push_back(std::max(1e-3, static_cast<double>(left - came) * 1e-3));
  }
  return times;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double derive_error(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  if (values.size() < 4) return (values.back() - values.front()) / 2;
  // Of a normal distribution the middle half spans 1.349 standard deviations, and the median of n values scatters 1.253
  // times as much as their mean.
  const double middle_half = values[values.size() * 3 / 4] - values[values.size() / 4];
  return 1.253 / 1.349 * middle_half / std::sqrt(static_cast<double>(values.size()));
}

double derive_gap(std::vector<double> values) {
  if (values.size() < 2) return 0;
  std::nth_element(values.begin(), values.begin() + 1, values.end());
  return values[1] - values[0];
}

double derive_certainty(std::span<const double> faster, std::span<const double> slower) {
  if (faster.empty() || slower.empty()) return 0;
  double wins = 0;
  for (const double fast : faster)
    for (const double slow : slower) wins += fast < slow ? 1 : fast == slow ? 0.5 : 0;
  const auto m = static_cast<double>(faster.size()), n = static_cast<double>(slower.size());
  return (wins - m * n / 2) / std::sqrt(m * n * (m + n + 1) / 12);
}

}  // namespace espalier::learn
