#pragma once
// The v-forms whose sizes no rank knows beforehand, when their blocks are short: done without an exchange of sizes.

#include <optional>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/side.hpp"

namespace espalier::mpi {

/// Tries a scatter, gather or alltoall. `send` and `receive` have a block for each rank or one, as
/// execute/short_blocks.hpp says; null: MPI ignores that side here, or forbids it as it is. MPI's code; empty where the
/// call has to go on, which all ranks are told alike: its blocks are not short, or this communicator's calls are to be
/// done otherwise. Then `sizes` are what the root of a scatter or gather knows of all ranks' blocks, if it could tell
/// them meanwhile; empty otherwise, on all ranks.
std::optional<int> try_short_blocks(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem,
                                    const Side* send, const Side* receive, std::vector<Bytes>& sizes);

}  // namespace espalier::mpi
