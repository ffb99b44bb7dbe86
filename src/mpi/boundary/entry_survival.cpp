// Leaving a communicator after a failure: MPIX_Comm_revoke is native's, and we have to know of it. Nothing else of ULFM
// concerns us: shrinking makes a new communicator, agreement is no collective of ours.

#include "mpi/boundary/entry.hpp"
#include "mpi/run/progress/health.hpp"

#if defined(OPEN_MPI)

namespace espalier::mpi {
namespace {

/// From now on every collective on `comm` returns the error at this rank; others learn of it while they wait.
int revoke_for_all(MPI_Comm comm) noexcept {
  const auto native_revoke = reinterpret_cast<int (*)(MPI_Comm)>(find_symbol("PMPIX_Comm_revoke"));
  if (find_native() == nullptr || native_revoke == nullptr) return MPI_ERR_INTERN;
  const int code = native_revoke(comm);
  if (code != MPI_SUCCESS || find_failure(comm) == MPI_SUCCESS) return code;
  if (Communicator* const communicator = Communicator::find_existing(comm)) communicator->is_broken = true;
  return code;
}

}  // namespace
}  // namespace espalier::mpi

ESPALIER_EXPORT int MPIX_Comm_revoke(MPI_Comm comm) { return espalier::mpi::revoke_for_all(comm); }

// As Fortran calls it: mpif.h and `use mpi`, and mpi_f08.
ESPALIER_EXPORT void ompix_comm_revoke_f(MPI_Fint* comm, MPI_Fint* error) {
  using namespace espalier::mpi;
  const Native* const mpi = find_native();
  const int code = mpi == nullptr ? MPI_ERR_INTERN : revoke_for_all(mpi->Comm_f2c(*comm));
  if (error != nullptr) *error = code;
}
ESPALIER_EXPORT void mpix_comm_revoke_(MPI_Fint*, MPI_Fint*) __attribute__((alias("ompix_comm_revoke_f")));

#endif
