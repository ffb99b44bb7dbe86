#pragma once
// Calls whose blocks are not as long as the problem says, on this rank: it has more or less room than is sent to it, or
// less to send than it was told. MPI forbids that, but programs get by with more room than they need.

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

/// Runs what was prepared with blocks as the problem wants them, gives the caller as much of them as there is room for,
/// and returns MPI's code: MPI_ERR_TRUNCATE where something was left out.
int run_fitted(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides);

}  // namespace espalier::mpi
