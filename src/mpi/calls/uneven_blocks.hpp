#pragma once
// The v-forms whose sizes no rank knows beforehand, done without an exchange of sizes.

#include <optional>
#include <vector>

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

/// What came of a call without an exchange of sizes.
struct UnevenAttempt {
  /// False: the call has to go on, which all ranks are told alike: some blocks are too long for this way, or this
  /// communicator's calls are to be done otherwise.
  bool is_over = false;
  /// MPI's code; nothing where MPI forbids this rank's arguments, which native is to refuse.
  std::optional<int> code = {};
  /// If the call goes on: what the root of a scatter or gather knows of all ranks' blocks, if it could tell them
  /// meanwhile; empty otherwise, on all ranks.
  std::vector<Bytes> sizes = {};
};

/// Forgets a side whose data are nowhere. Whether it did.
inline bool drop_missing(std::optional<Side>& side) {
  const bool is_missing = side && side->is_missing();
  if (is_missing) side.reset();
  return is_missing;
}

/// Tries a scatter, gather or alltoall; `root` is read for the first two. `sides` have a block for each rank or one, as
/// execute/uneven_blocks.hpp says; null: MPI ignores that side here, or forbids it as it is.
UnevenAttempt try_uneven_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Sides& sides);

}  // namespace espalier::mpi
