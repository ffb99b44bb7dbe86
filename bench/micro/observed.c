/* What ESPALIER_PROFILE adds to short calls: rounds of calls without a pause, timed as a whole.
 *
 *   bench_observed_<abi> [ROUNDS [CALLS]]
 *
 * Prints nanoseconds of a call of 4 bytes, for allreduce, broadcast and barrier: the fastest round, and the median. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void allreduce(void) {
  int in = 1, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void broadcast(void) {
  int data = 1;
  MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int by_size(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static void measure(const char* name, void (*call)(void), int rounds, int calls) {
  double* took = malloc((size_t)rounds * sizeof *took);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < calls; ++i) call();
  for (int r = 0; r < rounds; ++r) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    took[r] = 1e9 * (MPI_Wtime() - begin) / calls;
  }
  qsort(took, (size_t)rounds, sizeof *took, by_size);
  if (rank == 0) printf("%s %.1f %.1f\n", name, took[0], took[rounds / 2]);
  free(took);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 25, calls = argc > 2 ? atoi(argv[2]) : 20000;
  measure("allreduce", allreduce, rounds, calls);
  measure("bcast", broadcast, rounds, calls);
  measure("barrier", barrier, rounds, calls);
  MPI_Finalize();
  return 0;
}
