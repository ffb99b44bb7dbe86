#include "mpi/decide/uneven_ways.hpp"

#include <algorithm>

namespace espalier::mpi {
namespace {

using plan::Operation;

/// The longest block with this mean.
Bytes moved_of_mean(Bytes mean) { return mean > execute::any_size / 3 ? execute::any_size : (3 * mean + 2) / 2; }

bool may_choose(const topology::Topology& topology, Operation operation) {
  return topology.ranks() == 2 && topology.nodes() == 1 && topology.capabilities().single_copy &&
         tune::hides_sizes(operation);
}

}  // namespace

UnevenWays derive_uneven_ways(const tune::Table& table, const topology::Topology& topology, Operation operation) {
  if (!may_choose(topology, operation)) return {};
  UnevenWays ways;
  for (const tune::Span& span : table.uneven_spans(topology, operation)) {
    UnevenWay way{moved_of_mean(span.last), span.row, tune::Dedicated{}};
    if (span.row != nullptr) way.dedicated = tune::parse_dedicated(operation, span.row->selection);
    if (!way.dedicated && span.row->selection != "native") return {};
    ways.push_back(way);
  }
  return ways;
}

std::optional<Bytes> moved_bytes(Operation operation, LocalRank me, const execute::UnevenCall& call) {
  const std::size_t other = me == LocalRank(0) ? 1 : 0;
  const bool is_root = me == call.root;
  const auto bytes_of = [](const execute::MaybeBlocks& blocks, std::size_t block) {
    return blocks ? std::optional((*blocks)[block].bytes) : std::nullopt;
  };
  if (operation == Operation::scatter) return is_root ? bytes_of(call.input, other) : bytes_of(call.output, 0);
  if (operation == Operation::gather) return is_root ? bytes_of(call.output, other) : bytes_of(call.input, 0);
  if (!call.input || !call.output) return std::nullopt;
  return std::max(bytes_of(call.input, other), bytes_of(call.output, other));
}

Bytes moved_bytes(const plan::Problem& problem) {
  if (problem.operation == Operation::alltoall) return std::max(problem.counts[1], problem.counts[2]);
  return problem.counts[problem.root == Rank(0) ? 1 : 0];
}

}  // namespace espalier::mpi
