#pragma once
// The identities of DESIGN.md section 5 as distinct types: a local rank can never be passed where a rank is meant.

#include <compare>
#include <cstdint>
#include <functional>

namespace espalier {

template <class Tag>
struct Id {
  std::int32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};

/// Index of a process in a communicator.
using Rank = Id<struct RankTag>;
/// Index of a rank among the ranks of its node, in ascending rank order.
using LocalRank = Id<struct LocalRankTag>;
/// Index of a node (a host, real or virtual), numbered by first appearance in rank order.
using NodeId = Id<struct NodeTag>;

/// A size, or an offset, in bytes.
using Bytes = std::uint64_t;

}  // namespace espalier
