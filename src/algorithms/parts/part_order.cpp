#include "algorithms/parts/part_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "algorithms/parts/node_parts.hpp"
#include "groups/doubling.hpp"
#include "groups/far_first.hpp"
#include "plan/blocks.hpp"

namespace espalier::algorithms {
namespace {

/// The longest of `count` stretches of as many slices each.
Bytes longest_stretch(const std::vector<Bytes>& cuts, std::size_t count) {
  const std::size_t width = (cuts.size() - 1) / count;
  Bytes longest = 0;
  for (std::size_t at = 0; at + 1 < cuts.size(); at += width) longest = std::max(longest, cuts[at + width] - cuts[at]);
  return longest;
}

}  // namespace

PartOrder::PartOrder(const std::vector<Bytes>& parts, bool is_far_first)
    : is_far_first_(is_far_first), cuts_(parts.size() + 1) {
  for (std::size_t slice = 0; slice < parts.size(); ++slice)
    cuts_[slice + 1] = cuts_[slice] + parts[static_cast<std::size_t>(place_of(static_cast<int>(slice)))];
  for (std::size_t count = 2; count <= parts.size(); count *= 2) longest_.push_back(longest_stretch(cuts_, count));
}

int PartOrder::slice_of(int place) const {
  return is_far_first_ ? place : groups::reverse_digits(place, std::countr_zero(static_cast<unsigned>(places())));
}

Bytes PartOrder::way() const { return std::accumulate(longest_.begin(), longest_.end(), Bytes{0}); }

PartOrder derive_part_order(const topology::Topology& topology, const plan::Problem& problem) {
  const plan::Blocks blocks(problem, topology.ranks());
  std::vector<Bytes> parts(std::bit_floor(static_cast<std::size_t>(topology.nodes())));
  for (std::size_t place = 0; place < parts.size(); ++place)
    for (const int node : groups::derive_members(static_cast<int>(place), topology.nodes()))
      parts[place] += part_bytes(topology, blocks, node);
  PartOrder near(parts, false);
  const bool must_be_near = !problem.is_commutative || topology.distances().crowded_per_byte() > 0;
  if (must_be_near || problem.counts.empty()) return near;
  PartOrder far(parts, true);
  return far.way() < near.way() ? far : near;
}

}  // namespace espalier::algorithms
