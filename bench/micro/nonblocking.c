/* Start and wait of nonblocking and persistent collectives, native and with Espalier in one job, in turns.
 *
 *   mpiexec -n 2 env LD_PRELOAD=libespalier-<abi>.so bench_nonblocking_<abi> [ROUNDS]
 *
 * One line for each form, operation and size: medians over the rounds of the time per call in microseconds, the slowest
 * rank of each round counted, and native / ours with the quartiles of the rounds' ratios. The PMPI names are native's.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_rounds = 1000, most_bytes = 1 << 20 };

static char *in, *out;

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

static const struct {
  const char* name;
  starter native, ours;
  int is_persistent;
} operations[] = {{"ibcast", native_ibcast, ours_ibcast, 0},
                  {"iallreduce", native_iallreduce, ours_iallreduce, 0},
                  {"ialltoall", native_ialltoall, ours_ialltoall, 0},
                  {"ibarrier", native_ibarrier, ours_ibarrier, 0},
                  {"bcast_init", native_init_bcast, ours_init_bcast, 1},
                  {"allreduce_init", native_init_allreduce, ours_init_allreduce, 1},
                  {"alltoall_init", native_init_alltoall, ours_init_alltoall, 1},
                  {"barrier_init", native_init_barrier, ours_init_barrier, 1}};

/* What starts, completes and frees requests. */
struct library {
  int (*start)(MPI_Request*);
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*free)(MPI_Request*);
};
static const struct library native_library = {PMPI_Start, PMPI_Wait, PMPI_Request_free},
                            our_library = {MPI_Start, MPI_Wait, MPI_Request_free};

/* Per call, on the slowest rank. Making a persistent request is not part of it. */
static double time_calls(starter begin, const struct library* by, int is_persistent, int bytes, int calls) {
  MPI_Request request;
  if (is_persistent) begin(bytes, 0, &request);
  PMPI_Barrier(MPI_COMM_WORLD);
  double from = MPI_Wtime(), mine = 0, slowest = 0;
  for (int call = 0; call < calls; ++call) {
    if (is_persistent)
      by->start(&request);
    else
      begin(bytes, call, &request);
    by->wait(&request, MPI_STATUS_IGNORE);
  }
  mine = (MPI_Wtime() - from) / calls * 1e6;
  if (is_persistent) by->free(&request);
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int by_value(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, rounds = argc > 1 ? atoi(argv[1]) : 21;
  if (rounds < 1 || rounds > most_rounds) {
    fprintf(stderr, "bench_nonblocking: ROUNDS is between 1 and %d\n", most_rounds);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = calloc((size_t)ranks, most_bytes), out = calloc((size_t)ranks, most_bytes);
  if (rank == 0)
    printf("%-14s %8s %11s %9s %7s %15s\n", "operation", "bytes", "native us", "ours us", "ratio", "quartiles");
  for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
    for (int bytes = 4; bytes <= most_bytes; bytes *= 16) {
      static double native[most_rounds], ours[most_rounds], ratios[most_rounds];
      const int calls = bytes > 100000 ? 20 : 300;
      for (int round = -2; round < rounds; ++round) {
        const int at = round < 0 ? 0 : round;
        native[at] = time_calls(operations[i].native, &native_library, operations[i].is_persistent, bytes, calls);
        ours[at] = time_calls(operations[i].ours, &our_library, operations[i].is_persistent, bytes, calls);
        ratios[at] = native[at] / ours[at];
      }
      qsort(native, (size_t)rounds, sizeof *native, by_value);
      qsort(ours, (size_t)rounds, sizeof *ours, by_value);
      qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
      if (rank == 0)
        printf("%-14s %8d %11.2f %9.2f %7.2f %7.2f %7.2f\n", operations[i].name, bytes, native[rounds / 2],
               ours[rounds / 2], ratios[rounds / 2], ratios[rounds / 4], ratios[rounds * 3 / 4]);
      if (operations[i].native == native_ibarrier || operations[i].native == native_init_barrier) break;
    }
  free(in), free(out);
  MPI_Finalize();
  return 0;
}
