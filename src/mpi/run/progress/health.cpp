#include "mpi/run/progress/health.hpp"

#include <chrono>

#include "mpi/process/library.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {
namespace {

#if defined(OPEN_MPI) && defined(MPI_ERR_PROC_FAILED)

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_symbol(name));
}

// Declared in mpi-ext.h, which not every Open MPI has, so found by name. Open MPI says by a variable whether it was
// started to go on. MPICH has some of these functions, too, but no such word; and its launcher does not go on (5.0.2,
// `mpiexec -disable-auto-cleanup`).
struct Mitigation {
  Mitigation() {
    const auto* const is_enabled = static_cast<const bool*>(find_symbol("ompi_ftmpi_enabled"));
    if (is_enabled == nullptr || !*is_enabled) return;
    find(is_revoked, "PMPIX_Comm_is_revoked");
    find(get_failed, "PMPIX_Comm_get_failed");
    find(revoke, "PMPIX_Comm_revoke");
    is_on = is_revoked != nullptr && get_failed != nullptr && revoke != nullptr;
  }

  int (*is_revoked)(MPI_Comm, int*) = nullptr;
  int (*get_failed)(MPI_Comm, MPI_Group*) = nullptr;
  int (*revoke)(MPI_Comm) = nullptr;
  bool is_on = false;
};

const Mitigation& mitigation() {
  static const Mitigation found;
  return found;
}

bool has_dead_ranks(MPI_Comm comm) noexcept {
  MPI_Group dead;
  int count = 0;
  if (mitigation().get_failed(comm, &dead) != MPI_SUCCESS) return false;
  native().Group_size(dead, &count);
  native().Group_free(&dead);
  return count > 0;
}

#endif

}  // namespace

#if defined(OPEN_MPI) && defined(MPI_ERR_PROC_FAILED)

bool outlives_failures() noexcept { return mitigation().is_on; }

int find_failure(MPI_Comm comm) noexcept {
  int is_revoked = 0;
  if (!outlives_failures()) return MPI_SUCCESS;
  if (mitigation().is_revoked(comm, &is_revoked) == MPI_SUCCESS && is_revoked) return MPI_ERR_REVOKED;
  return has_dead_ranks(comm) ? MPI_ERR_PROC_FAILED : MPI_SUCCESS;
}

int await_failure(MPI_Comm comm) noexcept {
  constexpr std::chrono::seconds longest{1};
  const auto end = std::chrono::steady_clock::now() + longest;
  int failure = find_failure(comm);
  while (failure == MPI_SUCCESS && outlives_failures() && std::chrono::steady_clock::now() < end) {
    Library::get().progress().poke();
    let_others_run();
    failure = find_failure(comm);
  }
  return failure;
}

void revoke(MPI_Comm comm) noexcept { mitigation().revoke(comm); }

#else

bool outlives_failures() noexcept { return false; }
int find_failure(MPI_Comm) noexcept { return MPI_SUCCESS; }
int await_failure(MPI_Comm) noexcept { return MPI_SUCCESS; }
void revoke(MPI_Comm) noexcept {}

#endif

}  // namespace espalier::mpi
