#include "groups/distances.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace espalier::groups {
namespace {

/// The step nearest to count / phi that comes by all of `count` places; of two the shorter.
int golden_step(int count) {
  const double wanted = count / std::numbers::phi;
  int best = 1;
  for (int step = 2; step < count; ++step)
    if (std::gcd(step, count) == 1 && std::abs(step - wanted) < std::abs(best - wanted)) best = step;
  return best;
}

}  // namespace

std::vector<int> spread_distances(int count) {
  const int step = golden_step(count);
  std::vector<int> distances;
  for (int distance = step; count > 1 && distance != 0; distance = (distance + step) % count)
    distances.push_back(distance);
  return distances;
}

}  // namespace espalier::groups
