// Where windows of one-sided communication begin. Nothing of these calls is changed; they tell us that there are some.

#include "mpi/boundary/entry.hpp"
#include "mpi/run/progress/one_sided.hpp"

namespace espalier::mpi {
namespace {

template <class Make>
[[gnu::always_inline]] inline int make(const Make& natively) noexcept {
  const Native* const mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  OneSided::note_window();
  return natively(*mpi);
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

ESPALIER_CALL(Win_create, (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
              (base, size, unit, info, comm, window)) {
  return make([=](const Native& mpi) { return mpi.Win_create(base, size, unit, info, comm, window); });
}

ESPALIER_CALL(Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
              (size, unit, info, comm, base, window)) {
  return make([=](const Native& mpi) { return mpi.Win_allocate(size, unit, info, comm, base, window); });
}

ESPALIER_CALL(Win_allocate_shared, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
              (size, unit, info, comm, base, window)) {
  return make([=](const Native& mpi) { return mpi.Win_allocate_shared(size, unit, info, comm, base, window); });
}

ESPALIER_CALL(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* window), (info, comm, window)) {
  return make([=](const Native& mpi) { return mpi.Win_create_dynamic(info, comm, window); });
}
