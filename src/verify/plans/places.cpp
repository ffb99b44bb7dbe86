#include "verify/plans/places.hpp"

#include <cstdlib>
#include <map>

#include "machine/node.hpp"
#include "verify/plans/random.hpp"

namespace espalier::verify {

using machine::Binding;
using machine::RankFacts;

namespace {

/// What all ranks of a node have in common.
RankFacts draw_node(Random& random) {
  RankFacts node;
  node.numa_nodes = static_cast<std::uint8_t>(random.between(1, 4));
  node.nics = static_cast<std::uint8_t>(random.one_in(8) ? 0 : random.between(1, 3));
  node.nics_key = node.nics == 0 ? 0 : 1 + static_cast<std::uint32_t>(random.below(1000));
  for (std::size_t k = 0; k < node.nics; ++k)
    node.nic_numa[k] = static_cast<std::int16_t>(random.below(node.numa_nodes));
  return node;
}

RankFacts draw_rank(Random& random, const RankFacts& node) {
  RankFacts rank = node;
  rank.binding = random.one_in(8) ? Binding::unbound : Binding::bound;
  if (random.one_in(64)) ++rank.nics_key;
  if (rank.binding == Binding::unbound) return rank;
  rank.numa = static_cast<std::int16_t>(random.below(node.numa_nodes));
  rank.l3 = static_cast<std::int16_t>(2 * rank.numa + random.between(0, 1));
  for (std::size_t k = 0; k < node.nics; ++k)
    rank.distance[k] = static_cast<std::uint8_t>(machine::local_distance + 6 * std::abs(rank.numa - node.nic_numa[k]));
  return rank;
}

}  // namespace

std::vector<RankFacts> draw_places(std::span<const int> node_of, std::uint64_t seed) {
  if (seed == 0) return {};
  Random random(seed, 0);
  std::map<int, RankFacts> nodes;
  std::vector<RankFacts> facts;
  for (const int label : node_of) {
    const auto [entry, is_new] = nodes.try_emplace(label);
    if (is_new) entry->second = draw_node(random);
    facts.push_back(draw_rank(random, entry->second));
  }
  return facts;
}

}  // namespace espalier::verify
