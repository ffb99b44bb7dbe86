// The C entry points: MPI's own, which preloading puts in front of the library's, and the same by name of Espalier.

#include "mpi/boundary/entry.hpp"

using namespace espalier::mpi;
using espalier::plan::Operation;

// MPI_<name> and Espalier_<name>: parameters, the arguments to pass on to native, and the call that we try first.
// Neither calls the other: behind libmpi in the search order, MPI_<name> would be libmpi's.
#define ESPALIER_ENTRY(name, parameters, arguments, ...)                                           \
  static int enter_##name parameters {                                                             \
    return enter(                                                                                  \
        comm, [&] { return __VA_ARGS__; }, [&](const Native& mpi) { return mpi.name arguments; }); \
  }                                                                                                \
  ESPALIER_EXPORT int MPI_##name parameters { return enter_##name arguments; }                     \
  ESPALIER_EXPORT int Espalier_##name parameters { return enter_##name arguments; }

// The same with large counts, which has no name of ours. A program that calls these runs on a library that has them, so
// the native pointers are there when they are needed.
#if ESPALIER_HAS_LARGE_COUNTS
#define ESPALIER_LARGE_ENTRY(name, parameters, arguments, ...)                                         \
  ESPALIER_EXPORT int MPI_##name##_c parameters {                                                      \
    return enter(                                                                                      \
        comm, [&] { return __VA_ARGS__; }, [&](const Native& mpi) { return mpi.name##_c arguments; }); \
  }
#else
#define ESPALIER_LARGE_ENTRY(name, parameters, arguments, ...)
#endif

#define ESPALIER_ENTRIES(name, parameters, arguments, ...)           \
  ESPALIER_ENTRY(name, parameters(int, int), arguments, __VA_ARGS__) \
  ESPALIER_LARGE_ENTRY(name, parameters(MPI_Count, MPI_Aint), arguments, __VA_ARGS__)

// ---- parameters, for counts of type C and displacements of type D ----

#define BCAST(C, D) (void* buffer, C count, MPI_Datatype type, int root, MPI_Comm comm)
#define EXCHANGE(C, D)                                                                                   \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, C receive_count, \
   MPI_Datatype receive_type, MPI_Comm comm)
#define ROOTED(C, D)                                                                                     \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, C receive_count, \
   MPI_Datatype receive_type, int root, MPI_Comm comm)
#define SCATTERV(C, D)                                                                                   \
  (const void* send_buffer, const C send_counts[], const D send_displacements[], MPI_Datatype send_type, \
   void* receive_buffer, C receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm)
#define GATHERV(C, D)                                                                                             \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, const C receive_counts[], \
   const D receive_displacements[], MPI_Datatype receive_type, int root, MPI_Comm comm)
#define ALLGATHERV(C, D)                                                                                          \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, const C receive_counts[], \
   const D receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm)
#define ALLTOALLV(C, D)                                                                                        \
  (const void* send_buffer, const C send_counts[], const D send_displacements[], MPI_Datatype send_type,       \
   void* receive_buffer, const C receive_counts[], const D receive_displacements[], MPI_Datatype receive_type, \
   MPI_Comm comm)
#define REDUCE(C, D) \
  (const void* send_buffer, void* receive_buffer, C count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
#define REDUCE_TO_ALL(C, D) \
  (const void* send_buffer, void* receive_buffer, C count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define REDUCE_SCATTER(C, D) \
  (const void* send_buffer, void* receive_buffer, const C counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define BARRIER(C, D) (MPI_Comm comm)

#define SEND_RUN \
  Run { send_buffer, send_count, send_type }
#define RECEIVE_RUN \
  Run { receive_buffer, receive_count, receive_type }
#define SEND_PARTS \
  Parts { send_buffer, Numbers(send_counts), Numbers(send_displacements), send_type }
#define RECEIVE_PARTS \
  Parts { receive_buffer, Numbers(receive_counts), Numbers(receive_displacements), receive_type }

// ---- the operations ----

// clang-format off
ESPALIER_ENTRIES(Bcast, BCAST, (buffer, count, type, root, comm), Broadcast{{buffer, count, type}, root, comm})
ESPALIER_ENTRY(Barrier, BARRIER(int, int), (comm), Barrier{comm})

ESPALIER_ENTRIES(Scatter, ROOTED,
  (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm),
  Scatter{SEND_RUN, RECEIVE_RUN, root, comm})
ESPALIER_ENTRIES(Scatterv, SCATTERV,
  (send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_count, receive_type, root, comm),
  Scatterv{SEND_PARTS, RECEIVE_RUN, root, comm})

ESPALIER_ENTRIES(Gather, ROOTED,
  (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm),
  Gather{SEND_RUN, RECEIVE_RUN, root, comm})
ESPALIER_ENTRIES(Gatherv, GATHERV,
  (send_buffer, send_count, send_type, receive_buffer, receive_counts, receive_displacements, receive_type, root, comm),
  Gatherv{SEND_RUN, RECEIVE_PARTS, root, comm})

ESPALIER_ENTRIES(Allgather, EXCHANGE,
  (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm),
  Allgather{SEND_RUN, RECEIVE_RUN, comm})
ESPALIER_ENTRIES(Allgatherv, ALLGATHERV,
  (send_buffer, send_count, send_type, receive_buffer, receive_counts, receive_displacements, receive_type, comm),
  Allgatherv{SEND_RUN, RECEIVE_PARTS, comm})

ESPALIER_ENTRIES(Alltoall, EXCHANGE,
  (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm),
  Alltoall{SEND_RUN, RECEIVE_RUN, comm})
ESPALIER_ENTRIES(Alltoallv, ALLTOALLV,
  (send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_counts, receive_displacements,
   receive_type, comm),
  Alltoallv{SEND_PARTS, RECEIVE_PARTS, comm})

ESPALIER_ENTRIES(Reduce, REDUCE, (send_buffer, receive_buffer, count, type, op, root, comm),
  Reduction{Operation::reduce, send_buffer, receive_buffer, count, type, op, root, comm})
ESPALIER_ENTRIES(Allreduce, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm),
  Reduction{Operation::allreduce, send_buffer, receive_buffer, count, type, op, 0, comm})
ESPALIER_ENTRIES(Scan, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm),
  Reduction{Operation::scan, send_buffer, receive_buffer, count, type, op, 0, comm})
ESPALIER_ENTRIES(Exscan, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm),
  Reduction{Operation::exscan, send_buffer, receive_buffer, count, type, op, 0, comm})
ESPALIER_ENTRIES(Reduce_scatter_block, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm),
  Reduction{Operation::reduce_scatter, send_buffer, receive_buffer, count, type, op, 0, comm})
ESPALIER_ENTRIES(Reduce_scatter, REDUCE_SCATTER, (send_buffer, receive_buffer, counts, type, op, comm),
  ReduceScatter{send_buffer, receive_buffer, Numbers(counts), type, op, comm})
// clang-format on
