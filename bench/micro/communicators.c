/* What short-lived communicators cost, native and with the library, in turns within one job: duplicate one, use it so
 * many times (allreduce of 8 bytes), free it.
 *
 *   espalier run -n 8 -- bench_communicators [ROUNDS]
 *
 * Prints for 1, 10 and 100 uses the median over rounds of the slowest rank's time for all of it, both ways, in us, and
 * the median of the ratios within a round (native / ours; above 1 ours is faster); and the first allreduce of the
 * process, which comes once, and so one way only: run it again without the library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 2000 };

static double slowest(double mine) {
  double all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static double live(int uses, int is_native) {
  double one = 1, sum = 0;
  MPI_Comm comm;
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = PMPI_Wtime();
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < uses; ++i)
    if (is_native)
      PMPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    else
      MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  if (is_native)
    PMPI_Comm_free(&comm);
  else
    MPI_Comm_free(&comm);
  return slowest(1e6 * (PMPI_Wtime() - begin));
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

int main(int argc, char** argv) {
  static double native[MOST_ROUNDS], ours[MOST_ROUNDS], ratio[MOST_ROUNDS];
  static const int uses[] = {1, 10, 100};
  int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 100;
  double one = 1, sum = 0;
  if (rounds < 1 || rounds > MOST_ROUNDS) rounds = MOST_ROUNDS;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double begin = PMPI_Wtime();
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double first = slowest(1e3 * (PMPI_Wtime() - begin));
  if (rank == 0) printf("%d ranks; the first allreduce of the process: %.2f ms\n", size, first);
  for (unsigned u = 0; u < sizeof uses / sizeof *uses; ++u) {
    for (int round = 0; round < rounds; ++round) {
      const int native_first = round % 2;
      if (native_first) native[round] = live(uses[u], 1);
      ours[round] = live(uses[u], 0);
      if (!native_first) native[round] = live(uses[u], 1);
      ratio[round] = native[round] / ours[round];
    }
    const double middle = median(ratio, rounds), lower = ratio[rounds / 10], upper = ratio[rounds - 1 - rounds / 10];
    if (rank == 0)
      printf("%4d uses: native %.1f us, ours %.1f us; native / ours %.2f (a tenth below %.2f, above %.2f)\n", uses[u],
             median(native, rounds), median(ours, rounds), middle, lower, upper);
  }
  MPI_Finalize();
  return 0;
}
