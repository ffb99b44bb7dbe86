#pragma once
// What MPI knows of ranks that have died, where it goes on without them (User-Level Failure Mitigation, as Open MPI 5
// under `mpiexec --with-ft ulfm`). Elsewhere it ends the job, and nothing here is ever asked of it.

#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// Whether this process's MPI goes on after a death; known once MPI is initialised. Looked up once.
bool outlives_failures() noexcept;

/// Why nobody should wait for the ranks of `comm` any longer: MPI's class of error if it was revoked, or as soon as MPI
/// has told this process that one of them died; else MPI_SUCCESS. Local; below a microsecond. MPI hears of deaths while
/// it progresses, so whoever waits pokes it.
///
/// MPI is asked, not the system: its errors are then the same as native's and as early, on all nodes, and a rank that
/// somebody has stopped is not taken for dead. What MPI does not know of yet, MPIX_Comm_shrink could not leave out.
int find_failure(MPI_Comm comm) noexcept;

/// The same after a run was broken off, which another rank may have had a reason for first: waits a second at most for
/// MPI to tell it here.
int await_failure(MPI_Comm comm) noexcept;

/// Ends every message on a communicator of our own, on all its ranks, as MPIX_Comm_revoke does. Any rank may call it
/// once MPI outlives failures.
void revoke(MPI_Comm comm) noexcept;

/// While it lives, a failure met on `comm` is only returned. For set-up, which meets it first: native, which then does
/// the call that was to be set up for, tells the communicator's handler, once.
class Discretion {
 public:
  explicit Discretion(MPI_Comm comm) : comm_(comm) {
    if (!outlives_failures()) return;
    native().Comm_get_errhandler(comm, &handler_);
    native().Comm_set_errhandler(comm, native().errors_return);
  }
  ~Discretion() {
    if (!outlives_failures()) return;
    native().Comm_set_errhandler(comm_, handler_);
    native().Errhandler_free(&handler_);
  }
  Discretion(const Discretion&) = delete;
  Discretion& operator=(const Discretion&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler handler_;
};

}  // namespace espalier::mpi
