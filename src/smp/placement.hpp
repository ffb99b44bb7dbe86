#pragma once
// Node-major order against rank order. Leaders exchange data node by node; callers want them rank by rank.

#include <algorithm>

#include "topology/topology.hpp"

namespace espalier::smp {

/// Maps stretches of a writer's buffer to where a reader wants them.
class Placement {
 public:
  /// Byte for byte: broadcast, and allgather wherever node-major order is rank order.
  Placement() = default;
  /// Blocks of `block` bytes, one per rank, lie in node-major order and belong into rank order.
  Placement(const topology::Topology& topology, Bytes block) : topology_(&topology), block_(block) {}

  /// Calls `part(from, to, bytes)` for each maximal stretch that stays contiguous, in order. O(blocks touched).
  template <class Part>
  void for_each_part(Bytes offset, Bytes bytes, Part part) const {
    if (topology_ == nullptr) return part(offset, offset, bytes);
    for (const Bytes end = offset + bytes; offset < end;) {
      Bytes stop = std::min(end, (offset / block_ + 1) * block_);
      while (stop < end && rank_at(stop) == rank_at(stop - 1) + 1) stop = std::min(end, stop + block_);
      part(offset, rank_at(offset) * block_ + offset % block_, stop - offset);
      offset = stop;
    }
  }

 private:
  Bytes rank_at(Bytes offset) const { return static_cast<Bytes>(topology_->by_node()[offset / block_].value); }

  const topology::Topology* topology_ = nullptr;
  Bytes block_ = 0;
};

}  // namespace espalier::smp
