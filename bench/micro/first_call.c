/* How a process begins, and the first collective of a communicator: what setting up costs. The same program without the
 * library shows what the MPI itself takes.
 *
 *   mpiexec -n 4 bench_first_call        espalier run -n 4 --virtual-nodes 2 -- bench_first_call
 *
 * Prints, in ms and for the slowest rank: MPI_Init, in which MPI_COMM_WORLD is set up, and the first broadcast of the
 * process; of 21 duplicates MPI_Comm_dup, the first broadcast (median and worst) and the second. Communicators begin
 * with native calls unless ESPALIER_SETUP_CALLS=0. ESPALIER_VERBOSE=2 tells the parts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 21, BYTES = 64 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

/* The slowest rank's. What is not measured goes past the library: PMPI. */
static double slowest_since(double begin) {
  double mine = now() - begin, slowest = 0;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static double time_broadcast(MPI_Comm comm) {
  char data[BYTES] = {0};
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm);
  return slowest_since(begin);
}

static double time_duplicate(MPI_Comm* made) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  MPI_Comm_dup(MPI_COMM_WORLD, made);
  return slowest_since(begin);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  double made[ROUNDS], first[ROUNDS], second[ROUNDS];
  int rank, size;
  const double begin = now();
  MPI_Init(&argc, &argv);
  const double init = slowest_since(begin);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Barrier(MPI_COMM_WORLD); /* connections of the MPI itself are made */
  const double first_of_all = time_broadcast(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm;
    made[round] = time_duplicate(&comm);
    first[round] = time_broadcast(comm);
    second[round] = time_broadcast(comm);
    MPI_Comm_free(&comm);
  }
  qsort(made, ROUNDS, sizeof made[0], by_value);
  qsort(first, ROUNDS, sizeof first[0], by_value);
  qsort(second, ROUNDS, sizeof second[0], by_value);
  if (rank == 0)
    printf(
        "%d ranks, ms: MPI_Init %.1f, then the first broadcast %.3f; MPI_Comm_dup %.3f, then the first broadcast "
        "%.3f (worst %.2f), the second %.3f\n",
        size, init, first_of_all, made[ROUNDS / 2], first[ROUNDS / 2], first[ROUNDS - 1], second[ROUNDS / 2]);
  MPI_Finalize();
  return 0;
}
