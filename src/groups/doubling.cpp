#include "groups/doubling.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace espalier::groups {
namespace {

int floor_to_power(int count) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(count))); }

/// The node at a place among `core` of `count` nodes.
int node_at(int place, int core, int count) {
  const int pairs = count - core;
  return place < pairs ? 2 * place + 1 : place + pairs;
}

}  // namespace

Doubling derive_doubling(int node, int count) {
  const int core = floor_to_power(count);
  const int pairs = count - core;
  Doubling doubling;
  if (node < 2 * pairs && node % 2 == 0) {
    doubling.lends_to = node + 1;
    return doubling;
  }
  if (node < 2 * pairs) doubling.borrows_from = node - 1;
  doubling.place = node < 2 * pairs ? node / 2 : node - pairs;
  for (int distance = 1; distance < core; distance *= 2)
    doubling.partners.push_back(node_at(doubling.place ^ distance, core, count));
  return doubling;
}

std::vector<int> derive_members(int place, int count) {
  const int core = floor_to_power(count), node = node_at(place, core, count);
  if (place < count - core) return {node - 1, node};
  return {node};
}

std::vector<Circle> derive_circles(int node, int count, int radix) {
  std::vector<Circle> circles;
  const int place = derive_doubling(node, count).place;
  if (place < 0) return circles;
  const int core = floor_to_power(count), most = floor_to_power(radix);
  for (int distance = 1, size = 0; distance < core; distance *= size) {
    size = std::min(most, core / distance);
    Circle circle{{}, place / distance % size};
    for (int i = 0; i < size; ++i)
      circle.nodes.push_back(node_at(place + (i - circle.position) * distance, core, count));
    circles.push_back(std::move(circle));
  }
  return circles;
}

}  // namespace espalier::groups
