// Fortran entry points, where the library's own do not pass through the C symbols.
//   Open MPI: mpif.h and `use mpi` call mpi_bcast_ (in one of four spellings), mpi_f08 calls ompi_bcast_f.
//   MPICH, Intel MPI: all reach the C symbols, except mpi_f08's barriers, which have no buffer to describe and
//   go straight to PMPI_Barrier.

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/entry_forms.hpp"
#include "mpi/boundary/fortran.hpp"
#include "mpi/setup/neighbors.hpp"

#if defined(OPEN_MPI)

#include <algorithm>
#include <array>
#include <vector>

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

/// Begins a nonblocking call. `begin(request)`: MPI's code.
template <class Begin>
MPI_Fint begin(MPI_Fint* handle, const Begin& begin) {
  if (find_native() == nullptr) return MPI_ERR_INTERN;
  MPI_Request request = native().request_null;
  const int code = begin(&request);
  if (code == MPI_SUCCESS) *handle = native().Request_c2f(request);
  return code;
}

// A handle that is no handle, where MPI ignores the argument, gives the null handle.
MPI_Comm comm_of(const MPI_Fint* handle) { return native().Comm_f2c(*handle); }
MPI_Datatype type_of(const MPI_Fint* handle) { return native().Type_f2c(*handle); }
MPI_Op op_of(const MPI_Fint* handle) { return native().Op_f2c(*handle); }
std::vector<MPI_Datatype> types_of(const MPI_Fint* handles, int size) {
  std::vector<MPI_Datatype> types;
  for (int i = 0; i < size; ++i) types.push_back(type_of(&handles[i]));
  return types;
}
/// One for each rank; none where MPI ignores them.
std::vector<MPI_Datatype> types_of(const MPI_Fint* handles, const MPI_Fint* comm, bool are_ignored = false) {
  int size = 0;
  if (!are_ignored) native().Comm_size(comm_of(comm), &size);
  return types_of(handles, size);
}

}  // namespace
}  // namespace espalier::mpi

// Fortran's parameters come in groups, each of which has its types and its names.
#define TYPES_BUFFER void *buffer, MPI_Fint *count, MPI_Fint *type,
#define NAMES_BUFFER buffer, count, type,
#define TYPES_SEND_RUN void *send, MPI_Fint *send_count, MPI_Fint *send_type,
#define NAMES_SEND_RUN send, send_count, send_type,
#define TYPES_RECEIVE_RUN void *receive, MPI_Fint *receive_count, MPI_Fint *receive_type,
#define NAMES_RECEIVE_RUN receive, receive_count, receive_type,
#define TYPES_SEND_PARTS void *send, MPI_Fint *send_counts, MPI_Fint *send_displacements, MPI_Fint *send_type,
#define NAMES_SEND_PARTS send, send_counts, send_displacements, send_type,
#define TYPES_RECEIVE_PARTS \
  void *receive, MPI_Fint *receive_counts, MPI_Fint *receive_displacements, MPI_Fint *receive_type,
#define NAMES_RECEIVE_PARTS receive, receive_counts, receive_displacements, receive_type,
#define TYPES_SEND_PIECES void *send, MPI_Fint *send_counts, MPI_Aint *send_displacements, MPI_Fint *send_type,
#define NAMES_SEND_PIECES NAMES_SEND_PARTS
#define TYPES_RECEIVE_PIECES \
  void *receive, MPI_Fint *receive_counts, MPI_Aint *receive_displacements, MPI_Fint *receive_type,
#define NAMES_RECEIVE_PIECES NAMES_RECEIVE_PARTS
#define TYPES_REDUCTION void *send, void *receive, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
#define NAMES_REDUCTION send, receive, count, type, op,
#define TYPES_ROOT MPI_Fint *root,
#define NAMES_ROOT root,
#define TYPES_NONE
#define NAMES_NONE

#define ESPALIER_LIST(...) __VA_ARGS__ __VA_OPT__(, )
// All forms of a collective: the groups in front of the communicator, and the same for C.
#define ESPALIER_FORTRAN(name, UPPER, blocking, nonblocking, A, B, C, arguments)                                      \
  ESPALIER_SPELLINGS(name, UPPER, (TYPES_##A TYPES_##B TYPES_##C MPI_Fint * comm, MPI_Fint * error),                  \
                     (NAMES_##A NAMES_##B NAMES_##C comm, error),                                                     \
                     *error = find_native() == nullptr ? static_cast<MPI_Fint>(MPI_ERR_INTERN)                        \
                                                       : Espalier_##blocking(ESPALIER_LIST arguments comm_of(comm));) \
  ESPALIER_SPELLINGS(                                                                                                 \
      i##name, I##UPPER, (TYPES_##A TYPES_##B TYPES_##C MPI_Fint * comm, MPI_Fint * request, MPI_Fint * error),       \
      (NAMES_##A NAMES_##B NAMES_##C comm, request, error), *error = begin(request, [&](MPI_Request* made) {          \
        return begin_##nonblocking(ESPALIER_LIST arguments comm_of(comm), made);                                      \
      });)                                                                                                            \
  ESPALIER_SPELLINGS(                                                                                                 \
      name##_init, UPPER##_INIT,                                                                                      \
      (TYPES_##A TYPES_##B TYPES_##C MPI_Fint * comm, MPI_Fint * info, MPI_Fint * request, MPI_Fint * error),         \
      (NAMES_##A NAMES_##B NAMES_##C comm, info, request, error), *error = begin(request, [&](MPI_Request* made) {    \
        return make_##blocking##_init(ESPALIER_LIST arguments comm_of(comm), native().Info_f2c(*info), made);         \
      });)

// Of reduce_scatter `count` is an array.
// clang-format off
ESPALIER_FORTRAN(bcast, BCAST, Bcast, Ibcast, BUFFER, ROOT, NONE,
  (data(buffer), *count, type_of(type), *root))
ESPALIER_FORTRAN(barrier, BARRIER, Barrier, Ibarrier, NONE, NONE, NONE,
  ())
ESPALIER_FORTRAN(scatter, SCATTER, Scatter, Iscatter, SEND_RUN, RECEIVE_RUN, ROOT,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type), *root))
ESPALIER_FORTRAN(scatterv, SCATTERV, Scatterv, Iscatterv, SEND_PARTS, RECEIVE_RUN, ROOT,
  (data(send), send_counts, send_displacements, type_of(send_type), data(receive), *receive_count,
   type_of(receive_type), *root))
ESPALIER_FORTRAN(gather, GATHER, Gather, Igather, SEND_RUN, RECEIVE_RUN, ROOT,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type), *root))
ESPALIER_FORTRAN(gatherv, GATHERV, Gatherv, Igatherv, SEND_RUN, RECEIVE_PARTS, ROOT,
  (data(send), *send_count, type_of(send_type), data(receive), receive_counts, receive_displacements,
   type_of(receive_type), *root))
ESPALIER_FORTRAN(allgather, ALLGATHER, Allgather, Iallgather, SEND_RUN, RECEIVE_RUN, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type)))
ESPALIER_FORTRAN(allgatherv, ALLGATHERV, Allgatherv, Iallgatherv, SEND_RUN, RECEIVE_PARTS, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), receive_counts, receive_displacements,
   type_of(receive_type)))
ESPALIER_FORTRAN(alltoall, ALLTOALL, Alltoall, Ialltoall, SEND_RUN, RECEIVE_RUN, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type)))
ESPALIER_FORTRAN(alltoallv, ALLTOALLV, Alltoallv, Ialltoallv, SEND_PARTS, RECEIVE_PARTS, NONE,
  (data(send), send_counts, send_displacements, type_of(send_type), data(receive), receive_counts,
   receive_displacements, type_of(receive_type)))
ESPALIER_FORTRAN(alltoallw, ALLTOALLW, Alltoallw, Ialltoallw, SEND_PARTS, RECEIVE_PARTS, NONE,
  (data(send), send_counts, send_displacements, types_of(send_type, comm, data(send) == MPI_IN_PLACE).data(),
   data(receive), receive_counts, receive_displacements, types_of(receive_type, comm).data()))
ESPALIER_FORTRAN(neighbor_allgather, NEIGHBOR_ALLGATHER, Neighbor_allgather, Ineighbor_allgather,
  SEND_RUN, RECEIVE_RUN, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type)))
ESPALIER_FORTRAN(neighbor_allgatherv, NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, Ineighbor_allgatherv,
  SEND_RUN, RECEIVE_PARTS, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), receive_counts, receive_displacements,
   type_of(receive_type)))
ESPALIER_FORTRAN(neighbor_alltoall, NEIGHBOR_ALLTOALL, Neighbor_alltoall, Ineighbor_alltoall,
  SEND_RUN, RECEIVE_RUN, NONE,
  (data(send), *send_count, type_of(send_type), data(receive), *receive_count, type_of(receive_type)))
ESPALIER_FORTRAN(neighbor_alltoallv, NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, Ineighbor_alltoallv,
  SEND_PARTS, RECEIVE_PARTS, NONE,
  (data(send), send_counts, send_displacements, type_of(send_type), data(receive), receive_counts,
   receive_displacements, type_of(receive_type)))
ESPALIER_FORTRAN(neighbor_alltoallw, NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, Ineighbor_alltoallw,
  SEND_PIECES, RECEIVE_PIECES, NONE,
  (data(send), send_counts, send_displacements, types_of(send_type, degrees_of(comm_of(comm)).out).data(),
   data(receive), receive_counts, receive_displacements, types_of(receive_type, degrees_of(comm_of(comm)).in).data()))
ESPALIER_FORTRAN(reduce, REDUCE, Reduce, Ireduce, REDUCTION, ROOT, NONE,
  (data(send), data(receive), *count, type_of(type), op_of(op), *root))
ESPALIER_FORTRAN(allreduce, ALLREDUCE, Allreduce, Iallreduce, REDUCTION, NONE, NONE,
  (data(send), data(receive), *count, type_of(type), op_of(op)))
ESPALIER_FORTRAN(scan, SCAN, Scan, Iscan, REDUCTION, NONE, NONE,
  (data(send), data(receive), *count, type_of(type), op_of(op)))
ESPALIER_FORTRAN(exscan, EXSCAN, Exscan, Iexscan, REDUCTION, NONE, NONE,
  (data(send), data(receive), *count, type_of(type), op_of(op)))
ESPALIER_FORTRAN(reduce_scatter_block, REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block, REDUCTION, NONE, NONE,
  (data(send), data(receive), *count, type_of(type), op_of(op)))
ESPALIER_FORTRAN(reduce_scatter, REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, REDUCTION, NONE, NONE,
  (data(send), data(receive), count, type_of(type), op_of(op)))
// clang-format on

#elif !defined(MPI_ABI)

// In MPICH's ABI a Fortran handle is the C handle.
ESPALIER_EXPORT void mpi_barrier_f08_(const MPI_Comm* comm, MPI_Fint* error) {
  if (espalier::mpi::leave_alone("mpi_barrier_f08_", comm, error)) return;
  espalier::mpi::give_code(Espalier_Barrier(*comm), error);
}
ESPALIER_EXPORT void mpi_ibarrier_f08_(const MPI_Comm* comm, MPI_Request* request, MPI_Fint* error) {
  if (espalier::mpi::leave_alone("mpi_ibarrier_f08_", comm, request, error)) return;
  espalier::mpi::give_code(espalier::mpi::begin_Ibarrier(*comm, request), error);
}
ESPALIER_EXPORT void mpi_barrier_init_f08_(const MPI_Comm* comm, const MPI_Info* info, MPI_Request* request,
                                           MPI_Fint* error) {
  if (espalier::mpi::leave_alone("mpi_barrier_init_f08_", comm, info, request, error)) return;
  espalier::mpi::give_code(espalier::mpi::make_Barrier_init(*comm, *info, request), error);
}

#endif
