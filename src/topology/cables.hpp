#pragma once
// Which cables between switches the messages of a communicator's nodes take: where they meet.

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace espalier::topology {

/// The cables on the routes among some nodes, each direction by itself. Packets are routed by where they begin only up
/// to the first switch, so there is one route from each leaf (Trunks::leaf_of) to each node. A value, equal on all
/// ranks; empty where routes are not known, or too many to keep.
struct Cables {
  std::vector<float> per_byte;  ///< by cable: µs; 0: not known, never full
  /// By leaf and node (leaf x nodes + node), and one more: where the route begins in `taken`. Adapters' own cables are
  /// no part of it, so that it is empty where both are on one switch.
  std::vector<int> begin;
  std::vector<int> taken;  ///< cables of all routes, one route after the other

  /// 512 nodes on 32 leaves, or 256 on 64: up to some 200 kilobytes, which every process has. More are not kept.
  static constexpr std::size_t most_routes = std::size_t{1} << 14;

  bool empty() const { return begin.empty(); }
  std::span<const int> route(int leaf, int node, int nodes) const {
    const auto at = static_cast<std::size_t>(leaf) * static_cast<std::size_t>(nodes) + static_cast<std::size_t>(node);
    return std::span(taken).subspan(static_cast<std::size_t>(begin[at]),
                                    static_cast<std::size_t>(begin[at + 1] - begin[at]));
  }
  bool operator==(const Cables&) const = default;
};

}  // namespace espalier::topology
