/* Nonblocking and persistent collectives by one signature, natively (PMPI) and through Espalier. Their buffers hold
 * `most_bytes` for each rank.
 */

#ifndef ESPALIER_BENCH_STARTED_CALLS_H
#define ESPALIER_BENCH_STARTED_CALLS_H

#include <mpi.h>
#include <stdlib.h>

enum { most_bytes = 1 << 20 };

static char *in, *out;

static void make_buffers(int ranks) { in = calloc((size_t)ranks, most_bytes), out = calloc((size_t)ranks, most_bytes); }
static void free_buffers(void) { free(in), free(out); }

/* Begins a call, the nonblocking ones by making its request. */
typedef int (*starter)(int bytes, int call, MPI_Request* request);

#define CALLS(P, PRE, I, POST, ...)                                                                              \
  static int PRE##bcast(int bytes, int call, MPI_Request* request) {                                             \
    return P##I##bcast##POST(in, bytes, MPI_BYTE, call % 2, MPI_COMM_WORLD, __VA_ARGS__ request);                \
  }                                                                                                              \
  static int PRE##allreduce(int bytes, int call, MPI_Request* request) {                                         \
    (void)call;                                                                                                  \
    return P##I##allreduce##POST(in, out, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, __VA_ARGS__ request);   \
  }                                                                                                              \
  static int PRE##alltoall(int bytes, int call, MPI_Request* request) {                                          \
    (void)call;                                                                                                  \
    return P##I##alltoall##POST(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD, __VA_ARGS__ request); \
  }                                                                                                              \
  static int PRE##barrier(int bytes, int call, MPI_Request* request) {                                           \
    (void)bytes, (void)call;                                                                                     \
    return P##I##barrier##POST(MPI_COMM_WORLD, __VA_ARGS__ request);                                             \
  }
CALLS(MPI_, ours_i, I, )
CALLS(PMPI_, native_i, I, )
#define MPI_bcast_init MPI_Bcast_init
#define PMPI_bcast_init PMPI_Bcast_init
#define MPI_allreduce_init MPI_Allreduce_init
#define PMPI_allreduce_init PMPI_Allreduce_init
#define MPI_alltoall_init MPI_Alltoall_init
#define PMPI_alltoall_init PMPI_Alltoall_init
#define MPI_barrier_init MPI_Barrier_init
#define PMPI_barrier_init PMPI_Barrier_init
CALLS(MPI_, ours_init_, , _init, MPI_INFO_NULL, )
CALLS(PMPI_, native_init_, , _init, MPI_INFO_NULL, )

/* The persistent ones come last. */
static const struct started_call {
  const char* name;
  starter native, ours;
  int is_persistent;
} started_calls[] = {{"ibcast", native_ibcast, ours_ibcast, 0},
                     {"iallreduce", native_iallreduce, ours_iallreduce, 0},
                     {"ialltoall", native_ialltoall, ours_ialltoall, 0},
                     {"ibarrier", native_ibarrier, ours_ibarrier, 0},
                     {"bcast_init", native_init_bcast, ours_init_bcast, 1},
                     {"allreduce_init", native_init_allreduce, ours_init_allreduce, 1},
                     {"alltoall_init", native_init_alltoall, ours_init_alltoall, 1},
                     {"barrier_init", native_init_barrier, ours_init_barrier, 1}};
enum { started_call_count = sizeof started_calls / sizeof *started_calls };

static int has_data(const struct started_call* call) {
  return call->native != native_ibarrier && call->native != native_init_barrier;
}

/* What starts, looks at, completes and frees requests. */
struct library {
  int (*start)(MPI_Request*);
  int (*test)(MPI_Request*, int*, MPI_Status*);
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*free)(MPI_Request*);
};
static const struct library native_library = {PMPI_Start, PMPI_Test, PMPI_Wait, PMPI_Request_free},
                            our_library = {MPI_Start, MPI_Test, MPI_Wait, MPI_Request_free};

static int by_value(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

/* Of the slowest rank. */
static double slowest_of(double mine) {
  double slowest = 0;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

#endif
