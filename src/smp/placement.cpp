#include "smp/placement.hpp"

namespace espalier::smp {

NodeMajor::NodeMajor(const topology::Topology& topology, const plan::Problem& problem, std::span<const int> node_at)
    : topology_(topology), blocks_(problem, topology.ranks()), block_(problem.bytes) {
  if (!node_at.empty()) put_in_order(node_at);
  if (problem.counts.empty()) return;
  begin_.reserve(problem.counts.size() + 1);
  begin_.push_back(0);
  for (const Rank rank : ranks()) begin_.push_back(begin_.back() + blocks_.bytes(rank));
}

void NodeMajor::put_in_order(std::span<const int> node_at) {
  ranks_.reserve(index(topology_.ranks()));
  position_of_.resize(node_at.size());
  for (const int node : node_at) {
    position_of_[index(node)] = static_cast<int>(ranks_before_.size());
    ranks_before_.push_back(static_cast<int>(ranks_.size()));
    const std::span<const Rank> here = topology_.ranks_on(NodeId(node));
    ranks_.insert(ranks_.end(), here.begin(), here.end());
  }
}

/// The block that holds the byte at `offset`, which is below the total; so it is not empty.
int NodeMajor::index_at(Bytes offset) const {
  if (begin_.empty()) return static_cast<int>(offset / block_);
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), offset) - begin_.begin()) - 1;
}

}  // namespace espalier::smp
