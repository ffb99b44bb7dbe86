/* Start and wait of nonblocking collectives, native and with Espalier in one job, in turns.
 *
 *   mpiexec -n 2 env LD_PRELOAD=libespalier-<abi>.so bench_nonblocking_<abi> [ROUNDS]
 *
 * One line for each operation and size: medians over the rounds of the time per call in microseconds, the slowest rank
 * of each round counted, and native / ours with the quartiles of the rounds' ratios. The PMPI names are native's. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_rounds = 1000, most_bytes = 1 << 20 };

static char *in, *out;

typedef int (*starter)(int bytes, int call, MPI_Request* request);

#define STARTERS(P)                                                                          \
  static int P##bcast(int bytes, int call, MPI_Request* request) {                           \
    return P##Ibcast(in, bytes, MPI_BYTE, call % 2, MPI_COMM_WORLD, request);                \
  }                                                                                          \
  static int P##allreduce(int bytes, int call, MPI_Request* request) {                       \
    (void)call;                                                                              \
    return P##Iallreduce(in, out, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);   \
  }                                                                                          \
  static int P##alltoall(int bytes, int call, MPI_Request* request) {                        \
    (void)call;                                                                              \
    return P##Ialltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD, request); \
  }                                                                                          \
  static int P##barrier(int bytes, int call, MPI_Request* request) {                         \
    (void)bytes, (void)call;                                                                 \
    return P##Ibarrier(MPI_COMM_WORLD, request);                                             \
  }
STARTERS(MPI_)
STARTERS(PMPI_)

static const struct {
  const char* name;
  starter native, ours;
} operations[] = {{"ibcast", PMPI_bcast, MPI_bcast},
                  {"iallreduce", PMPI_allreduce, MPI_allreduce},
                  {"ialltoall", PMPI_alltoall, MPI_alltoall},
                  {"ibarrier", PMPI_barrier, MPI_barrier}};

/* Per call, on the slowest rank. */
static double time_calls(starter start, int (*complete)(MPI_Request*, MPI_Status*), int bytes, int calls) {
  PMPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), mine = 0, slowest = 0;
  for (int call = 0; call < calls; ++call) {
    MPI_Request request;
    start(bytes, call, &request);
    complete(&request, MPI_STATUS_IGNORE);
  }
  mine = (MPI_Wtime() - begin) / calls * 1e6;
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
    printf("%-11s %8s %11s %9s %7s %15s\n", "operation", "bytes", "native us", "ours us", "ratio", "quartiles");
  for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
    for (int bytes = 4; bytes <= most_bytes; bytes *= 16) {
      static double native[most_rounds], ours[most_rounds], ratios[most_rounds];
      const int calls = bytes > 100000 ? 20 : 300;
      for (int round = -2; round < rounds; ++round) {
        const int at = round < 0 ? 0 : round;
        native[at] = time_calls(operations[i].native, PMPI_Wait, bytes, calls);
        ours[at] = time_calls(operations[i].ours, MPI_Wait, bytes, calls);
        ratios[at] = native[at] / ours[at];
      }
      qsort(native, (size_t)rounds, sizeof *native, by_value);
      qsort(ours, (size_t)rounds, sizeof *ours, by_value);
      qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
      if (rank == 0)
        printf("%-11s %8d %11.2f %9.2f %7.2f %7.2f %7.2f\n", operations[i].name, bytes, native[rounds / 2],
               ours[rounds / 2], ratios[rounds / 2], ratios[rounds / 4], ratios[rounds * 3 / 4]);
      if (operations[i].native == PMPI_barrier) break;
    }
  free(in), free(out);
  MPI_Finalize();
  return 0;
}
