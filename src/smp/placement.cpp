#include "smp/placement.hpp"

namespace espalier::smp {

NodeMajor::NodeMajor(const topology::Topology& topology, const plan::Problem& problem)
    : topology_(topology), blocks_(problem, topology.ranks()), block_(problem.bytes) {
  if (problem.counts.empty()) return;
  begin_.reserve(problem.counts.size() + 1);
  begin_.push_back(0);
  for (const Rank rank : topology.by_node()) begin_.push_back(begin_.back() + blocks_.bytes(rank));
}

/// The block that holds the byte at `offset`, which is below the total; so it is not empty.
int NodeMajor::index_at(Bytes offset) const {
  if (begin_.empty()) return static_cast<int>(offset / block_);
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), offset) - begin_.begin()) - 1;
}

}  // namespace espalier::smp
