/* Built with -DFORM_NONBLOCKING or -DFORM_PERSISTENT, the program's blocking collectives are nonblocking or persistent
 * ones, each completed in one of the ways that MPI has: everything that is proved of the ones is proved of the others.
 */
#ifndef ESPALIER_TESTS_FORM_H
#define ESPALIER_TESTS_FORM_H

#include <mpi.h>

#if defined(FORM_NONBLOCKING) || defined(FORM_PERSISTENT)

/* Completes the request of a call that began with this code; a persistent one is freed, too. */
int complete(int code, MPI_Request* request);

/* form_Bcast(...) is MPI_Ibcast, or MPI_Bcast_init and MPI_Start, and its completion. */
#define LIST(...) __VA_ARGS__
#if defined(FORM_NONBLOCKING)
#define FORM(name, nonblocking, parameters, arguments)                      \
  static inline int form_##name parameters {                                \
    MPI_Request request = MPI_REQUEST_NULL;                                 \
    return complete(MPI_##nonblocking(LIST arguments, &request), &request); \
  }
#else
#define FORM(name, nonblocking, parameters, arguments)                           \
  static inline int form_##name parameters {                                     \
    MPI_Request request = MPI_REQUEST_NULL;                                      \
    int code = MPI_##name##_init(LIST arguments, MPI_INFO_NULL, &request);       \
    return complete(code == MPI_SUCCESS ? MPI_Start(&request) : code, &request); \
  }
#endif

#define SENT const void *send, int send_count, MPI_Datatype send_type
#define RECEIVED void *receive, int receive_count, MPI_Datatype receive_type
#define SENT_PARTS const void *send, const int *send_counts, const int *send_at, MPI_Datatype send_type
#define RECEIVED_PARTS void *receive, const int *receive_counts, const int *receive_at, MPI_Datatype receive_type
#define VECTORS const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op

FORM(Barrier, Ibarrier, (MPI_Comm comm), (comm))
FORM(Bcast, Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, count, type, root, comm))
FORM(Scatter, Iscatter, (SENT, RECEIVED, int root, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, root, comm))
FORM(Scatterv, Iscatterv, (SENT_PARTS, RECEIVED, int root, MPI_Comm comm),
     (send, send_counts, send_at, send_type, receive, receive_count, receive_type, root, comm))
FORM(Gather, Igather, (SENT, RECEIVED, int root, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, root, comm))
FORM(Gatherv, Igatherv, (SENT, RECEIVED_PARTS, int root, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_counts, receive_at, receive_type, root, comm))
FORM(Allgather, Iallgather, (SENT, RECEIVED, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, comm))
FORM(Allgatherv, Iallgatherv, (SENT, RECEIVED_PARTS, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_counts, receive_at, receive_type, comm))
FORM(Alltoall, Ialltoall, (SENT, RECEIVED, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, comm))
FORM(Alltoallv, Ialltoallv, (SENT_PARTS, RECEIVED_PARTS, MPI_Comm comm),
     (send, send_counts, send_at, send_type, receive, receive_counts, receive_at, receive_type, comm))
FORM(Alltoallw, Ialltoallw,
     (const void* send, const int* send_counts, const int* send_at, const MPI_Datatype* send_types, void* receive,
      const int* receive_counts, const int* receive_at, const MPI_Datatype* receive_types, MPI_Comm comm),
     (send, send_counts, send_at, send_types, receive, receive_counts, receive_at, receive_types, comm))
FORM(Reduce, Ireduce, (VECTORS, int root, MPI_Comm comm), (send, receive, count, type, op, root, comm))
FORM(Allreduce, Iallreduce, (VECTORS, MPI_Comm comm), (send, receive, count, type, op, comm))
FORM(Scan, Iscan, (VECTORS, MPI_Comm comm), (send, receive, count, type, op, comm))
FORM(Exscan, Iexscan, (VECTORS, MPI_Comm comm), (send, receive, count, type, op, comm))
FORM(Reduce_scatter_block, Ireduce_scatter_block, (VECTORS, MPI_Comm comm), (send, receive, count, type, op, comm))
FORM(Reduce_scatter, Ireduce_scatter,
     (const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, receive, counts, type, op, comm))

FORM(Neighbor_allgather, Ineighbor_allgather, (SENT, RECEIVED, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, comm))
FORM(Neighbor_allgatherv, Ineighbor_allgatherv, (SENT, RECEIVED_PARTS, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_counts, receive_at, receive_type, comm))
FORM(Neighbor_alltoall, Ineighbor_alltoall, (SENT, RECEIVED, MPI_Comm comm),
     (send, send_count, send_type, receive, receive_count, receive_type, comm))
FORM(Neighbor_alltoallv, Ineighbor_alltoallv, (SENT_PARTS, RECEIVED_PARTS, MPI_Comm comm),
     (send, send_counts, send_at, send_type, receive, receive_counts, receive_at, receive_type, comm))
FORM(Neighbor_alltoallw, Ineighbor_alltoallw,
     (const void* send, const int* send_counts, const MPI_Aint* send_at, const MPI_Datatype* send_types, void* receive,
      const int* receive_counts, const MPI_Aint* receive_at, const MPI_Datatype* receive_types, MPI_Comm comm),
     (send, send_counts, send_at, send_types, receive, receive_counts, receive_at, receive_types, comm))

#define MPI_Barrier form_Barrier
#define MPI_Bcast form_Bcast
#define MPI_Scatter form_Scatter
#define MPI_Scatterv form_Scatterv
#define MPI_Gather form_Gather
#define MPI_Gatherv form_Gatherv
#define MPI_Allgather form_Allgather
#define MPI_Allgatherv form_Allgatherv
#define MPI_Alltoall form_Alltoall
#define MPI_Alltoallv form_Alltoallv
#define MPI_Alltoallw form_Alltoallw
#define MPI_Reduce form_Reduce
#define MPI_Allreduce form_Allreduce
#define MPI_Scan form_Scan
#define MPI_Exscan form_Exscan
#define MPI_Reduce_scatter_block form_Reduce_scatter_block
#define MPI_Reduce_scatter form_Reduce_scatter
#define MPI_Neighbor_allgather form_Neighbor_allgather
#define MPI_Neighbor_allgatherv form_Neighbor_allgatherv
#define MPI_Neighbor_alltoall form_Neighbor_alltoall
#define MPI_Neighbor_alltoallv form_Neighbor_alltoallv
#define MPI_Neighbor_alltoallw form_Neighbor_alltoallw

#endif
#endif
