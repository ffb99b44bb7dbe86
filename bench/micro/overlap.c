/* How much of a nonblocking collective passes while the program computes, native and with Espalier in one job, in
 * turns.
 *
 *   mpiexec -n 2 env LD_PRELOAD=libespalier-<abi>.so bench_overlap_<abi> [ROUNDS [MICROSECONDS]]
 *
 * Overlap is what the OSU benchmarks call so: 100 - 100 (all - compute) / alone, where `alone` is start and wait,
 * `compute` as long as that, and `all` start, compute and wait. With MICROSECONDS, MPI_Test is called that often
 * between. One line for each operation and size: start and wait alone, the overlap, and `all` of both with the same
 * compute, as long as the native call; medians over the rounds, the slowest rank of each counted. The PMPI names are
 * native's.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/compute.h"
#include "started_calls.h"

enum { most_rounds = 1000 };

/* With MPI_Test now and then. */
static void compute_and_test(double us, double between_us, const struct library* by, MPI_Request* request) {
  int is_done = 0;
  for (; between_us > 0 && us > between_us; us -= between_us) {
    compute(between_us);
    if (!is_done) by->test(request, &is_done, MPI_STATUS_IGNORE);
  }
  compute(us);
}

/* Per call, on the slowest rank. */
static double time_calls(starter begin, const struct library* by, int bytes, int calls, double us, double between_us) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double from = MPI_Wtime();
  for (int call = 0; call < calls; ++call) {
    MPI_Request request;
    begin(bytes, call, &request);
    if (us > 0) compute_and_test(us, between_us, by, &request);
    by->wait(&request, MPI_STATUS_IGNORE);
  }
  return slowest_of((MPI_Wtime() - from) / calls * 1e6);
}

/* The compute by itself, as many times. */
static double time_computes(int calls, double us) {
  PMPI_Barrier(MPI_COMM_WORLD);
  return slowest_of(time_compute(calls * us) / calls);
}

struct times {
  double alone, overlap, with_compute;
};

/* With compute as long as the call itself; `with_compute` is measured for `us`. */
static struct times measure(starter begin, const struct library* by, int bytes, int calls, double us,
                            double between_us) {
  struct times times;
  times.alone = time_calls(begin, by, bytes, calls, 0, 0);
  const double computed = time_computes(calls, times.alone);
  const double all = time_calls(begin, by, bytes, calls, times.alone, between_us);
  const double overlap = 100 - 100 * (all - computed) / times.alone;
  times.overlap = overlap < 0 ? 0 : overlap > 100 ? 100 : overlap;
  times.with_compute = time_calls(begin, by, bytes, calls, us > 0 ? us : times.alone, between_us);
  return times;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

static void measure_line(const struct started_call* call, int bytes, int rounds, double between_us, int rank) {
  static double alone[2][most_rounds], overlap[2][most_rounds], all[2][most_rounds], ratios[most_rounds];
  const int calls = bytes > 100000 ? 20 : 200;
  for (int round = -1; round < rounds; ++round) {
    const int at = round < 0 ? 0 : round;
    const struct times native = measure(call->native, &native_library, bytes, calls, 0, between_us);
    const struct times ours = measure(call->ours, &our_library, bytes, calls, native.alone, between_us);
    alone[0][at] = native.alone, overlap[0][at] = native.overlap, all[0][at] = native.with_compute;
    alone[1][at] = ours.alone, overlap[1][at] = ours.overlap, all[1][at] = ours.with_compute;
    ratios[at] = native.with_compute / ours.with_compute;
  }
  double medians[7];
  for (int which = 0; which < 2; ++which) {
    medians[which] = median(alone[which], rounds);
    medians[2 + which] = median(overlap[which], rounds);
    medians[4 + which] = median(all[which], rounds);
  }
  medians[6] = median(ratios, rounds);
  if (rank == 0)
    printf("%-11s %8d %10.2f %9.2f %7.0f%% %6.0f%% %10.2f %9.2f %7.2f %7.2f %7.2f\n", call->name, bytes, medians[0],
           medians[1], medians[2], medians[3], medians[4], medians[5], medians[6], ratios[rounds / 4],
           ratios[rounds * 3 / 4]);
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, getenv("BENCH_MULTIPLE") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  const int rounds = argc > 1 ? atoi(argv[1]) : 11;
  const double between_us = argc > 2 ? atof(argv[2]) : 0;
  if (rounds < 1 || rounds > most_rounds || between_us < 0) {
    fprintf(stderr, "bench_overlap: ROUNDS is between 1 and %d, MICROSECONDS at least 0\n", most_rounds);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  make_buffers(ranks);
  if (rank == 0)
    printf("%-11s %8s %20s %16s %20s %7s %15s\n%-11s %8s %10s %9s %8s %7s %10s %9s\n", "", "", "alone, us", "overlap",
           "with compute, us", "ratio", "quartiles", "operation", "bytes", "native", "ours", "native", "ours", "native",
           "ours");
  for (int i = 0; i < started_call_count && !started_calls[i].is_persistent; ++i)
    for (int bytes = 4; bytes <= most_bytes; bytes *= 16) {
      measure_line(&started_calls[i], bytes, rounds, between_us, rank);
      if (!has_data(&started_calls[i])) break;
    }
  free_buffers();
  MPI_Finalize();
  return 0;
}
