#pragma once
// Who sends whom how much, in calls with a count for each rank and in neighbourhoods, as one rank says it
// (ESPALIER_CHECK).

#include <algorithm>
#include <concepts>

#include "mpi/buffers/datatype.hpp"
#include "mpi/calls/calls.hpp"
#include "mpi/observe/check/record.hpp"
#include "mpi/setup/neighbors.hpp"

namespace espalier::mpi {
namespace detail {

inline std::int64_t bytes_of_block(MPI_Count count, MPI_Datatype type) {
  if (count < 0 || type == native().datatype_null) return Shares::unknown;
  return count * describe(type).size;
}

inline std::vector<std::int64_t> blocks_of(const Parts& parts, int ranks) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(ranks), Shares::unknown);
  for (int r = 0; !parts.counts.is_missing() && r < ranks; ++r)
    blocks[static_cast<std::size_t>(r)] = bytes_of_block(parts.counts[r], parts.type);
  return blocks;
}

inline std::vector<std::int64_t> blocks_of(const Pieces& pieces, int ranks) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(ranks), Shares::unknown);
  for (int r = 0; !pieces.counts.is_missing() && pieces.types != nullptr && r < ranks; ++r)
    blocks[static_cast<std::size_t>(r)] = bytes_of_block(pieces.counts[r], pieces.types[r]);
  return blocks;
}

inline std::vector<std::int64_t> all(std::int64_t bytes, int ranks) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), bytes);
}

/// Of one rank alone.
inline std::vector<std::int64_t> only(int rank, std::int64_t bytes, int ranks) {
  std::vector<std::int64_t> blocks = all(Shares::unknown, ranks);
  if (rank >= 0 && rank < ranks) blocks[static_cast<std::size_t>(rank)] = bytes;
  return blocks;
}

/// A block that stays where it is, or that the other side does not look at.
inline std::int64_t bytes_of_run(const Run& run) {
  return run.buffer == MPI_IN_PLACE ? Shares::unknown : bytes_of_block(run.count, run.type);
}

}  // namespace detail

inline Shares shares_of(const Gatherv& call, int me, int ranks) {
  return {detail::only(call.root, detail::bytes_of_run(call.send), ranks),
          me == call.root ? detail::blocks_of(call.receive, ranks) : detail::all(Shares::unknown, ranks)};
}

inline Shares shares_of(const Scatterv& call, int me, int ranks) {
  return {me == call.root ? detail::blocks_of(call.send, ranks) : detail::all(Shares::unknown, ranks),
          detail::only(call.root, detail::bytes_of_run(call.receive), ranks)};
}

/// In place a rank's block is as long as it expects it to be.
inline Shares shares_of(const Allgatherv& call, int me, int ranks) {
  std::vector<std::int64_t> expects = detail::blocks_of(call.receive, ranks);
  const bool is_in_place = call.send.buffer == MPI_IN_PLACE;
  const std::int64_t own = is_in_place ? expects[static_cast<std::size_t>(me)] : detail::bytes_of_run(call.send);
  return {detail::all(own, ranks), std::move(expects)};
}

template <class AllToAll>
requires std::same_as<AllToAll, Alltoallv> || std::same_as<AllToAll, Alltoallw> Shares shares_of(const AllToAll& call,
                                                                                                 int, int ranks) {
  std::vector<std::int64_t> expects = detail::blocks_of(call.receive, ranks);
  return {call.send.buffer == MPI_IN_PLACE ? expects : detail::blocks_of(call.send, ranks), std::move(expects)};
}

/// Every rank gives each other its part of that one's block: all have to think it as long as its owner does.
inline Shares shares_of(const ReduceScatter& call, int me, int ranks) {
  std::vector<std::int64_t> sends = detail::blocks_of(Parts{nullptr, call.counts, call.counts, call.type}, ranks);
  const std::int64_t own = sends[static_cast<std::size_t>(me)];
  return {std::move(sends), detail::all(own, ranks)};
}

namespace detail {

/// Of all neighbours, in MPI's order: the same for each where `data` is one run.
inline std::vector<std::int64_t> blocks_of(const Run& data, int neighbors) {
  return all(bytes_of_block(data.count, data.type), neighbors);
}

/// What goes along all edges to or from each rank together.
template <class Data>
std::vector<std::int64_t> sum_edges(const Data& data, const std::vector<int>& neighbors, int ranks) {
  std::vector<std::int64_t> sums = all(Shares::no_edge, ranks);
  const std::vector<std::int64_t> blocks = blocks_of(data, static_cast<int>(neighbors.size()));
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    if (neighbors[i] < 0) continue;  // nobody
    std::int64_t& sum = sums[static_cast<std::size_t>(neighbors[i])];
    const bool is_told = blocks[i] >= 0 && sum != Shares::unknown;
    sum = is_told ? std::max<std::int64_t>(sum, 0) + blocks[i] : Shares::unknown;
  }
  return sums;
}

}  // namespace detail

template <class Call>
concept Neighborly = std::same_as<Call, NeighborAllgather> || std::same_as<Call, NeighborAllgatherv> ||
    std::same_as<Call, NeighborAlltoall> || std::same_as<Call, NeighborAlltoallv> ||
    std::same_as<Call, NeighborAlltoallw>;

template <Neighborly Call>
Shares shares_of(const Call& call, int, int ranks) {
  const NeighborLists neighbors = list_neighbors(call.comm);
  return {detail::sum_edges(call.send, neighbors.destinations, ranks),
          detail::sum_edges(call.receive, neighbors.sources, ranks)};
}

/// Of equal blocks there is nothing to say.
template <class Other>
Shares shares_of(const Other&, int, int) {
  return {};
}

}  // namespace espalier::mpi
