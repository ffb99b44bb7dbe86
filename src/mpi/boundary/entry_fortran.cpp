// Fortran entry points, where the library's own do not pass through the C symbols.
//   Open MPI: mpif.h and `use mpi` call mpi_bcast_ (in one of four spellings), mpi_f08 calls ompi_bcast_f.
//   MPICH, Intel MPI: all reach the C symbols, except mpi_f08's barrier, which has no buffer to describe and goes
//   straight to PMPI_Barrier.

#include "mpi/boundary/entry.hpp"

#if defined(OPEN_MPI)

#include <algorithm>
#include <array>

namespace espalier::mpi {
namespace {

static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are handed on as they are");

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
void* data(void* buffer) {
  static const Sentinel in_place =
      Sentinel::find("mpi_fortran_in_place", "mpi_fortran_in_place_", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE");
  static const Sentinel bottom =
      Sentinel::find("mpi_fortran_bottom", "mpi_fortran_bottom_", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM");
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

// A handle that is no handle, where MPI ignores the argument, gives the null handle.
MPI_Comm comm_of(const MPI_Fint* handle) { return native().Comm_f2c(*handle); }
MPI_Datatype type_of(const MPI_Fint* handle) { return native().Type_f2c(*handle); }
MPI_Op op_of(const MPI_Fint* handle) { return native().Op_f2c(*handle); }

}  // namespace
}  // namespace espalier::mpi

#define ESPALIER_ALIAS(name, target, parameters) ESPALIER_EXPORT void name parameters __attribute__((alias(#target)));

// ompi_<name>_f, which is what mpi_f08 calls, and its aliases in all spellings of compilers: the C call `...`.
#define ESPALIER_FORTRAN(name, UPPER, parameters, ...)                                       \
  ESPALIER_EXPORT void ompi_##name##_f parameters {                                          \
    using namespace espalier::mpi;                                                           \
    *error = find_native() == nullptr ? static_cast<MPI_Fint>(MPI_ERR_INTERN) : __VA_ARGS__; \
  }                                                                                          \
  ESPALIER_ALIAS(mpi_##name, ompi_##name##_f, parameters)                                    \
  ESPALIER_ALIAS(mpi_##name##_, ompi_##name##_f, parameters)                                 \
  ESPALIER_ALIAS(mpi_##name##__, ompi_##name##_f, parameters)                                \
  ESPALIER_ALIAS(MPI_##UPPER, ompi_##name##_f, parameters)

#define SEND_RUN void *send, MPI_Fint *send_count, MPI_Fint *send_type
#define RECEIVE_RUN void *receive, MPI_Fint *receive_count, MPI_Fint *receive_type
#define SEND_PARTS void *send, MPI_Fint *send_counts, MPI_Fint *send_displacements, MPI_Fint *send_type
#define RECEIVE_PARTS void *receive, MPI_Fint *receive_counts, MPI_Fint *receive_displacements, MPI_Fint *receive_type
#define REDUCTION void *send, void *receive, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op
#define ROOT MPI_Fint* root
#define END MPI_Fint *comm, MPI_Fint *error

// clang-format off
ESPALIER_FORTRAN(bcast, BCAST, (void* buffer, MPI_Fint* count, MPI_Fint* type, ROOT, END),
  Espalier_Bcast(data(buffer), *count, type_of(type), *root, comm_of(comm)))
ESPALIER_FORTRAN(barrier, BARRIER, (END),
  Espalier_Barrier(comm_of(comm)))
ESPALIER_FORTRAN(scatter, SCATTER, (SEND_RUN, RECEIVE_RUN, ROOT, END),
  Espalier_Scatter(data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type),
                   *root, comm_of(comm)))
ESPALIER_FORTRAN(scatterv, SCATTERV, (SEND_PARTS, RECEIVE_RUN, ROOT, END),
  Espalier_Scatterv(data(send), send_counts, send_displacements, type_of(send_type), data(receive), *receive_count,
                    type_of(receive_type), *root, comm_of(comm)))
ESPALIER_FORTRAN(gather, GATHER, (SEND_RUN, RECEIVE_RUN, ROOT, END),
  Espalier_Gather(data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type),
                  *root, comm_of(comm)))
ESPALIER_FORTRAN(gatherv, GATHERV, (SEND_RUN, RECEIVE_PARTS, ROOT, END),
  Espalier_Gatherv(data(send), *send_count, type_of(send_type), data(receive), receive_counts, receive_displacements,
                   type_of(receive_type), *root, comm_of(comm)))
ESPALIER_FORTRAN(allgather, ALLGATHER, (SEND_RUN, RECEIVE_RUN, END),
  Espalier_Allgather(data(send), *send_count, type_of(send_type), data(receive), *receive_count,
                     type_of(receive_type), comm_of(comm)))
ESPALIER_FORTRAN(allgatherv, ALLGATHERV, (SEND_RUN, RECEIVE_PARTS, END),
  Espalier_Allgatherv(data(send), *send_count, type_of(send_type), data(receive), receive_counts,
                      receive_displacements, type_of(receive_type), comm_of(comm)))
ESPALIER_FORTRAN(alltoall, ALLTOALL, (SEND_RUN, RECEIVE_RUN, END),
  Espalier_Alltoall(data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type),
                    comm_of(comm)))
ESPALIER_FORTRAN(alltoallv, ALLTOALLV, (SEND_PARTS, RECEIVE_PARTS, END),
  Espalier_Alltoallv(data(send), send_counts, send_displacements, type_of(send_type), data(receive), receive_counts,
                     receive_displacements, type_of(receive_type), comm_of(comm)))
ESPALIER_FORTRAN(reduce, REDUCE, (REDUCTION, ROOT, END),
  Espalier_Reduce(data(send), data(receive), *count, type_of(type), op_of(op), *root, comm_of(comm)))
ESPALIER_FORTRAN(allreduce, ALLREDUCE, (REDUCTION, END),
  Espalier_Allreduce(data(send), data(receive), *count, type_of(type), op_of(op), comm_of(comm)))
ESPALIER_FORTRAN(scan, SCAN, (REDUCTION, END),
  Espalier_Scan(data(send), data(receive), *count, type_of(type), op_of(op), comm_of(comm)))
ESPALIER_FORTRAN(exscan, EXSCAN, (REDUCTION, END),
  Espalier_Exscan(data(send), data(receive), *count, type_of(type), op_of(op), comm_of(comm)))
ESPALIER_FORTRAN(reduce_scatter_block, REDUCE_SCATTER_BLOCK, (REDUCTION, END),
  Espalier_Reduce_scatter_block(data(send), data(receive), *count, type_of(type), op_of(op), comm_of(comm)))
ESPALIER_FORTRAN(reduce_scatter, REDUCE_SCATTER, (REDUCTION, END),  // `count` is an array here
  Espalier_Reduce_scatter(data(send), data(receive), count, type_of(type), op_of(op), comm_of(comm)))
// clang-format on

#elif !defined(MPI_ABI)

// In MPICH's ABI a Fortran handle is the C handle. `error` is an optional argument.
ESPALIER_EXPORT void mpi_barrier_f08_(const MPI_Comm* comm, MPI_Fint* error) {
  const int code = Espalier_Barrier(*comm);
  if (error != nullptr) *error = code;
}

#endif
