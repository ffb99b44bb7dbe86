#pragma once
// The topologies that a process has seen lately: its communicators are many, and nearly all alike.

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "topology/topology.hpp"

namespace espalier::topology {

/// Of a topology that is equal to a recent one no second copy of what grows with its ranks is kept. Thread safe.
class RecentTopologies {
 public:
  /// The same topology.
  Topology share(const Topology& made);

 private:
  std::mutex mutex_;
  std::array<std::optional<Topology>, 8> recent_;
  std::size_t oldest_ = 0;
};

}  // namespace espalier::topology
