// Fortran entry points, where the library's own do not pass through the C symbols.
//   Open MPI: mpif.h and `use mpi` call mpi_bcast_ (in one of four spellings), mpi_f08 calls ompi_bcast_f.
//   MPICH, Intel MPI: all reach the C symbols, except mpi_f08's barrier, which has no buffer to describe and goes
//   straight to PMPI_Barrier.

#include "mpi/entry.hpp"

#define ESPALIER_EXPORT extern "C" __attribute__((visibility("default")))

#if defined(OPEN_MPI)

#include <algorithm>
#include <array>

namespace espalier::mpi {
namespace {

// A Fortran constant such as MPI_IN_PLACE is the address of a common block, whose symbol depends on the compiler.
struct Sentinel {
  std::array<void*, 4> addresses;

  static Sentinel find(const char* lower, const char* lower_, const char* lower__, const char* upper) {
    return {{find_symbol(lower), find_symbol(lower_), find_symbol(lower__), find_symbol(upper)}};
  }
  bool is(const void* buffer) const {
    return buffer != nullptr && std::find(addresses.begin(), addresses.end(), buffer) != addresses.end();
  }
};

// As C would spell it. The symbols are looked up at the first call, when MPI and its Fortran side are loaded.
void* to_c(void* buffer) {
  static const Sentinel in_place =
      Sentinel::find("mpi_fortran_in_place", "mpi_fortran_in_place_", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE");
  static const Sentinel bottom =
      Sentinel::find("mpi_fortran_bottom", "mpi_fortran_bottom_", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM");
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

int broadcast(void* buffer, MPI_Fint count, MPI_Fint type, MPI_Fint root, MPI_Fint comm) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  const Broadcast call{to_c(buffer), count, mpi->Type_f2c(type), root, mpi->Comm_f2c(comm)};
  return enter(call,
               [&](const Native& native) { return native.Bcast(call.buffer, count, call.type, root, call.comm); });
}

int allgather(void* send_buffer, MPI_Fint send_count, MPI_Fint send_type, void* receive_buffer, MPI_Fint receive_count,
              MPI_Fint receive_type, MPI_Fint comm) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  const Allgather call{to_c(send_buffer),    send_count,    mpi->Type_f2c(send_type),
                       to_c(receive_buffer), receive_count, mpi->Type_f2c(receive_type),
                       mpi->Comm_f2c(comm)};
  return enter(call, [&](const Native& native) {
    return native.Allgather(call.send_buffer, send_count, call.send_type, call.receive_buffer, receive_count,
                            call.receive_type, call.comm);
  });
}

int barrier(MPI_Fint comm) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  const Barrier call{mpi->Comm_f2c(comm)};
  return enter(call, [&](const Native& native) { return native.Barrier(call.comm); });
}

}  // namespace
}  // namespace espalier::mpi

#define ESPALIER_ALIAS(name, target, parameters) ESPALIER_EXPORT void name parameters __attribute__((alias(#target)));
#define ESPALIER_SPELLINGS(lower, UPPER, target, parameters) \
  ESPALIER_ALIAS(lower, target, parameters)                  \
  ESPALIER_ALIAS(lower##_, target, parameters)               \
  ESPALIER_ALIAS(lower##__, target, parameters)              \
  ESPALIER_ALIAS(UPPER, target, parameters)

#define BCAST_PARAMETERS \
  (void* buffer, MPI_Fint* count, MPI_Fint* type, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error)
ESPALIER_EXPORT void ompi_bcast_f BCAST_PARAMETERS {
  *error = espalier::mpi::broadcast(buffer, *count, *type, *root, *comm);
}
ESPALIER_SPELLINGS(mpi_bcast, MPI_BCAST, ompi_bcast_f, BCAST_PARAMETERS)

#define ALLGATHER_PARAMETERS                                                                                    \
  (void* send_buffer, MPI_Fint* send_count, MPI_Fint* send_type, void* receive_buffer, MPI_Fint* receive_count, \
   MPI_Fint* receive_type, MPI_Fint* comm, MPI_Fint* error)
ESPALIER_EXPORT void ompi_allgather_f ALLGATHER_PARAMETERS {
  *error = espalier::mpi::allgather(send_buffer, *send_count, *send_type, receive_buffer, *receive_count, *receive_type,
                                    *comm);
}
ESPALIER_SPELLINGS(mpi_allgather, MPI_ALLGATHER, ompi_allgather_f, ALLGATHER_PARAMETERS)

#define BARRIER_PARAMETERS (MPI_Fint * comm, MPI_Fint * error)
ESPALIER_EXPORT void ompi_barrier_f BARRIER_PARAMETERS { *error = espalier::mpi::barrier(*comm); }
ESPALIER_SPELLINGS(mpi_barrier, MPI_BARRIER, ompi_barrier_f, BARRIER_PARAMETERS)

#elif !defined(MPI_ABI)

// In MPICH's ABI a Fortran handle is the C handle. `error` is an optional argument.
ESPALIER_EXPORT void mpi_barrier_f08_(const MPI_Comm* comm, MPI_Fint* error) {
  using namespace espalier::mpi;
  const int code = enter(Barrier{*comm}, [&](const Native& mpi) { return mpi.Barrier(*comm); });
  if (error != nullptr) *error = code;
}

#endif
