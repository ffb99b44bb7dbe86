#pragma once
// Scatterv, gatherv and alltoallv of two ranks on one node: what goes from one to the other both know, so that its size
// may choose how a call is done, as it does with equal blocks (docs/adr/0010).

#include <optional>
#include <vector>

#include "execute/lines/uneven_blocks.hpp"
#include "tune/dedicated.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// How a call is done where up to `last` bytes go from one rank to the other. Rows call the mean its size: the tuner
/// deals two ranks a half and one and a half, of which the latter goes to the other.
struct UnevenWay {
  Bytes last = 0;
  /// That says so; null: none does, so that the choice is the built-in one.
  const tune::Row* row = nullptr;
  /// The dedicated path's knob; none: native does it.
  std::optional<tune::Dedicated> dedicated = {};
};
using UnevenWays = std::vector<UnevenWay>;

/// By what `table` says of uneven blocks of `operation`, the smallest first, the last without an end. Empty where sizes
/// choose nothing: with other than two ranks, on two nodes, without single copy, where there is no row, and where rows
/// ask for plans, whose ranks must know all sizes. Equal on both ranks.
UnevenWays derive_uneven_ways(const tune::Table& table, const topology::Topology& topology, plan::Operation operation);

/// The longer of the blocks that go from one of two ranks to the other: equal on both, as MPI wants it. None where this
/// rank does not know it, as its arguments are wrong.
std::optional<Bytes> moved_bytes(plan::Operation operation, LocalRank me, const execute::UnevenCall& call);
/// The same of a problem with counts.
Bytes moved_bytes(const plan::Problem& problem);

}  // namespace espalier::mpi
