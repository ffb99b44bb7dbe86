#pragma once
// MPI's collectives, once each: what their entry points take, what they hand on to native, and the call it is for us.

#include "mpi/calls/calls.hpp"

// ---- parameters, for counts of type C and displacements of type D ----

#define BCAST(C, D, ...) (void* buffer, C count, MPI_Datatype type, int root, MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define EXCHANGE(C, D, ...)                                                                              \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, C receive_count, \
   MPI_Datatype receive_type, MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define ROOTED(C, D, ...)                                                                                \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, C receive_count, \
   MPI_Datatype receive_type, int root, MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define SCATTERV(C, D, ...)                                                                              \
  (const void* send_buffer, const C send_counts[], const D send_displacements[], MPI_Datatype send_type, \
   void* receive_buffer, C receive_count, MPI_Datatype receive_type, int root,                           \
   MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define GATHERV(C, D, ...)                                                                                        \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, const C receive_counts[], \
   const D receive_displacements[], MPI_Datatype receive_type, int root, MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define ALLGATHERV(C, D, ...)                                                                                     \
  (const void* send_buffer, C send_count, MPI_Datatype send_type, void* receive_buffer, const C receive_counts[], \
   const D receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define ALLTOALLV(C, D, ...)                                                                                   \
  (const void* send_buffer, const C send_counts[], const D send_displacements[], MPI_Datatype send_type,       \
   void* receive_buffer, const C receive_counts[], const D receive_displacements[], MPI_Datatype receive_type, \
   MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define ALLTOALLW(C, D, ...)                                                                                      \
  (const void* send_buffer, const C send_counts[], const D send_displacements[], const MPI_Datatype send_types[], \
   void* receive_buffer, const C receive_counts[], const D receive_displacements[],                               \
   const MPI_Datatype receive_types[], MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
// As those of the same name without NEIGHBOR, with a number for each neighbour.
#define NEIGHBOR_ALLGATHERV(C, D, ...) ALLGATHERV(C, D, __VA_ARGS__)
#define NEIGHBOR_ALLTOALLV(C, D, ...) ALLTOALLV(C, D, __VA_ARGS__)
#define NEIGHBOR_ALLTOALLW(C, D, ...) ALLTOALLW(C, MPI_Aint, __VA_ARGS__)
#define REDUCE(C, D, ...)                                                                          \
  (const void* send_buffer, void* receive_buffer, C count, MPI_Datatype type, MPI_Op op, int root, \
   MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define REDUCE_TO_ALL(C, D, ...)                                                         \
  (const void* send_buffer, void* receive_buffer, C count, MPI_Datatype type, MPI_Op op, \
   MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define REDUCE_SCATTER(C, D, ...)                                                                 \
  (const void* send_buffer, void* receive_buffer, const C counts[], MPI_Datatype type, MPI_Op op, \
   MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)
#define BARRIER(C, D, ...) (MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)

#define SEND_RUN \
  Run { send_buffer, send_count, send_type }
#define RECEIVE_RUN \
  Run { receive_buffer, receive_count, receive_type }
#define SEND_PARTS \
  Parts { send_buffer, Numbers(send_counts), Numbers(send_displacements), send_type }
#define RECEIVE_PARTS \
  Parts { receive_buffer, Numbers(receive_counts), Numbers(receive_displacements), receive_type }

#define SEND_PIECES \
  Pieces { send_buffer, Numbers(send_counts), Numbers(send_displacements), send_types }
#define RECEIVE_PIECES \
  Pieces { receive_buffer, Numbers(receive_counts), Numbers(receive_displacements), receive_types }

// X(name, name of the nonblocking form, parameters, arguments to hand on, call). `Barrier`, which has no counts, is by
// itself.
#define ESPALIER_COLLECTIVES(X) ESPALIER_GLOBAL_COLLECTIVES(X) ESPALIER_NEIGHBOR_COLLECTIVES(X)
// clang-format off
#define ESPALIER_GLOBAL_COLLECTIVES(X) \
  X(Bcast, Ibcast, BCAST, (buffer, count, type, root, comm), Broadcast{{buffer, count, type}, root, comm}) \
  X(Scatter, Iscatter, ROOTED, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm), \
    Scatter{SEND_RUN, RECEIVE_RUN, root, comm}) \
  X(Scatterv, Iscatterv, SCATTERV, \
    (send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_count, receive_type, root, comm), \
    Scatterv{SEND_PARTS, RECEIVE_RUN, root, comm}) \
  X(Gather, Igather, ROOTED, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm), \
    Gather{SEND_RUN, RECEIVE_RUN, root, comm}) \
  X(Gatherv, Igatherv, GATHERV, \
    (send_buffer, send_count, send_type, receive_buffer, receive_counts, receive_displacements, receive_type, root, comm), \
    Gatherv{SEND_RUN, RECEIVE_PARTS, root, comm}) \
  X(Allgather, Iallgather, EXCHANGE, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm), \
    Allgather{SEND_RUN, RECEIVE_RUN, comm}) \
  X(Allgatherv, Iallgatherv, ALLGATHERV, \
    (send_buffer, send_count, send_type, receive_buffer, receive_counts, receive_displacements, receive_type, comm), \
    Allgatherv{SEND_RUN, RECEIVE_PARTS, comm}) \
  X(Alltoall, Ialltoall, EXCHANGE, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm), \
    Alltoall{SEND_RUN, RECEIVE_RUN, comm}) \
  X(Alltoallv, Ialltoallv, ALLTOALLV, \
    (send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_counts, receive_displacements, \
     receive_type, comm), \
    Alltoallv{SEND_PARTS, RECEIVE_PARTS, comm}) \
  X(Alltoallw, Ialltoallw, ALLTOALLW, \
    (send_buffer, send_counts, send_displacements, send_types, receive_buffer, receive_counts, receive_displacements, \
     receive_types, comm), \
    Alltoallw{SEND_PIECES, RECEIVE_PIECES, comm}) \
  X(Reduce, Ireduce, REDUCE, (send_buffer, receive_buffer, count, type, op, root, comm), \
    Reduction{Operation::reduce, send_buffer, receive_buffer, count, type, op, root, comm}) \
  X(Allreduce, Iallreduce, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm), \
    Reduction{Operation::allreduce, send_buffer, receive_buffer, count, type, op, 0, comm}) \
  X(Scan, Iscan, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm), \
    Reduction{Operation::scan, send_buffer, receive_buffer, count, type, op, 0, comm}) \
  X(Exscan, Iexscan, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm), \
    Reduction{Operation::exscan, send_buffer, receive_buffer, count, type, op, 0, comm}) \
  X(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_TO_ALL, (send_buffer, receive_buffer, count, type, op, comm), \
    Reduction{Operation::reduce_scatter, send_buffer, receive_buffer, count, type, op, 0, comm}) \
  X(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER, (send_buffer, receive_buffer, counts, type, op, comm), \
    ReduceScatter{send_buffer, receive_buffer, Numbers(counts), type, op, comm})
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_NEIGHBOR_COLLECTIVES(X)
#else
#define ESPALIER_NEIGHBOR_COLLECTIVES(X) \
  X(Neighbor_allgather, Ineighbor_allgather, EXCHANGE, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm), \
    NeighborAllgather{SEND_RUN, RECEIVE_RUN, comm}) \
  X(Neighbor_allgatherv, Ineighbor_allgatherv, NEIGHBOR_ALLGATHERV, \
    (send_buffer, send_count, send_type, receive_buffer, receive_counts, receive_displacements, receive_type, comm), \
    NeighborAllgatherv{SEND_RUN, RECEIVE_PARTS, comm}) \
  X(Neighbor_alltoall, Ineighbor_alltoall, EXCHANGE, \
    (send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm), \
    NeighborAlltoall{SEND_RUN, RECEIVE_RUN, comm}) \
  X(Neighbor_alltoallv, Ineighbor_alltoallv, NEIGHBOR_ALLTOALLV, \
    (send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_counts, receive_displacements, \
     receive_type, comm), \
    NeighborAlltoallv{SEND_PARTS, RECEIVE_PARTS, comm}) \
  X(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOR_ALLTOALLW, \
    (send_buffer, send_counts, send_displacements, send_types, receive_buffer, receive_counts, receive_displacements, \
     receive_types, comm), \
    NeighborAlltoallw{SEND_PIECES, RECEIVE_PIECES, comm})
#endif
// clang-format on
#define ESPALIER_BARRIER(X) X(Barrier, Ibarrier, BARRIER, (comm), Barrier{comm})
