#include "groups/doubling.hpp"

#include <bit>

namespace espalier::groups {

Doubling derive_doubling(int node, int count) {
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  const int pairs = count - core;
  const auto node_at = [pairs](int place) { return place < pairs ? 2 * place + 1 : place + pairs; };
  Doubling doubling;
  if (node < 2 * pairs && node % 2 == 0) {
    doubling.lends_to = node + 1;
    return doubling;
  }
  if (node < 2 * pairs) doubling.borrows_from = node - 1;
  doubling.place = node < 2 * pairs ? node / 2 : node - pairs;
  for (int distance = 1; distance < core; distance *= 2)
    doubling.partners.push_back(node_at(doubling.place ^ distance));
  return doubling;
}

}  // namespace espalier::groups
