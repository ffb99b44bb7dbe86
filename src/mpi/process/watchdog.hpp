#pragma once
// Says who is waited for, once a rank has waited for longer than ESPALIER_WATCHDOG allows.

namespace espalier::mpi {

/// Looks from now on, by a thread of its own, for as long as the process lives: into MPI_Finalize, too. Nothing where
/// the setting asks for nothing, or ranks of the host share no memory.
void start_watchdog() noexcept;

}  // namespace espalier::mpi
