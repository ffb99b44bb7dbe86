#pragma once
// The v-forms whose sizes no rank knows beforehand, done without an exchange of sizes.

#include <optional>
#include <vector>

#include "mpi/calls/ready_blocks.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

/// What came of a call without an exchange of sizes.
struct UnevenAttempt {
  /// False: the call has to go on, which all ranks are told alike: some blocks are too long for this way, or this
  /// communicator's calls are to be done otherwise.
  bool is_over = false;
  /// MPI's code; nothing where native is to do the call.
  std::optional<int> code = {};
  /// If the call goes on: what the root of a scatter or gather knows of all ranks' blocks, if it could tell them
  /// meanwhile; empty otherwise, on all ranks.
  std::vector<Bytes> sizes = {};
};

/// Whether the communicator does such calls this way at all, and up to which block.
inline Bytes longest_uneven(const Communicator& communicator, plan::Operation operation) {
  return communicator.is_broken ? 0 : communicator.engine()->decider().uneven_kind(operation).longest;
}

/// Does a scatter, gather or alltoall of blocks that are ready, none of them longer than longest_uneven(), which is not
/// 0; null: MPI ignores that side here.
UnevenAttempt run_ready_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                               const ReadyBlocks* input, const ReadyBlocks* output);

/// Tries a scatter, gather or alltoall; `root` is read for the first two. `sides` have a block for each rank or one, as
/// execute/lines/uneven_blocks.hpp says; null: MPI ignores that side here, or forbids it as it is.
UnevenAttempt try_uneven_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Sides& sides);

}  // namespace espalier::mpi
