#pragma once
// A rank's own block and the blocks of all: the two ends of scatter, gather and allgather. MPI_IN_PLACE says that the
// own one lies among all.

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

/// MPI_IN_PLACE means something only where there are blocks to lie among.
inline bool is_own_valid(const Run& own, bool has_all) {
  return (has_all && own.buffer == MPI_IN_PLACE) || is_valid(own);
}

/// `all` is null where MPI ignores it; `own` is valid.
inline Side find_own(const Run& own, const Side* all, int rank) {
  return all != nullptr && own.buffer == MPI_IN_PLACE ? all->block(rank) : Side(own);
}

/// What goes in and what comes out: a scatter deals the blocks of all, the others collect them.
inline Sides sides_of(plan::Operation operation, const Side* all, const Side* own) {
  const bool deals = operation == plan::Operation::scatter;
  return {.input = deals ? all : own, .output = deals ? own : all};
}

/// A call with equal blocks. `all` is null where MPI ignores it. Returns what try_call() does.
std::optional<int> serve_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Run& own, const Side* all, Start* start);

/// A call with blocks of the given sizes, which all ranks know; both sides are such as MPI wants them.
std::optional<int> serve_uneven(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Side& own, const Side* all, std::vector<Bytes> sizes, Start* start);

}  // namespace espalier::mpi
