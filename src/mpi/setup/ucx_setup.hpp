#pragma once
// Opening the UCX transport: ranks exchange their addresses through the MPI underneath.

#include <memory>
#include <string>

#include "base/ids.hpp"
#include "mpi/native/native.hpp"
#include "transports/ucx/ucx.hpp"

namespace espalier::mpi {

struct UcxOpening {
  /// Null on all ranks alike when any of them cannot use UCX.
  std::unique_ptr<transports::UcxNetwork> network;
  /// Then: which rank cannot, and why, for a person. Equal on all ranks.
  std::string refusal;
};

/// Collective over `comm`. `far` is a rank of another node, not necessarily the same for everybody: whether UCX has a
/// way to it stands for all. `is_one_host` is equal on all ranks: nodes are virtual ones, so where nothing else goes
/// UCX may use shared memory between them. Cost: three allreduces and an allgather of some hundred bytes per rank.
/// Throws NativeFailure.
UcxOpening open_ucx(MPI_Comm comm, Rank far, bool is_one_host);

}  // namespace espalier::mpi
