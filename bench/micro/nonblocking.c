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

#include "started_calls.h"

enum { most_rounds = 1000 };

/* Per call, on the slowest rank. Making a persistent request is not part of it. */
static double time_calls(starter begin, const struct library* by, int is_persistent, int bytes, int calls) {
  MPI_Request request;
  if (is_persistent) begin(bytes, 0, &request);
  PMPI_Barrier(MPI_COMM_WORLD);
  double from = MPI_Wtime(), mine = 0;
  for (int call = 0; call < calls; ++call) {
    if (is_persistent)
      by->start(&request);
    else
      begin(bytes, call, &request);
    by->wait(&request, MPI_STATUS_IGNORE);
  }
  mine = (MPI_Wtime() - from) / calls * 1e6;
  if (is_persistent) by->free(&request);
  return slowest_of(mine);
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
  make_buffers(ranks);
  if (rank == 0)
    printf("%-14s %8s %11s %9s %7s %15s\n", "operation", "bytes", "native us", "ours us", "ratio", "quartiles");
  for (int i = 0; i < started_call_count; ++i)
    for (int bytes = 4; bytes <= most_bytes; bytes *= 16) {
      static double native[most_rounds], ours[most_rounds], ratios[most_rounds];
      const int calls = bytes > 100000 ? 20 : 300;
      for (int round = -2; round < rounds; ++round) {
        const int at = round < 0 ? 0 : round;
        native[at] = time_calls(started_calls[i].native, &native_library, started_calls[i].is_persistent, bytes, calls);
        ours[at] = time_calls(started_calls[i].ours, &our_library, started_calls[i].is_persistent, bytes, calls);
        ratios[at] = native[at] / ours[at];
      }
      qsort(native, (size_t)rounds, sizeof *native, by_value);
      qsort(ours, (size_t)rounds, sizeof *ours, by_value);
      qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
      if (rank == 0)
        printf("%-14s %8d %11.2f %9.2f %7.2f %7.2f %7.2f\n", started_calls[i].name, bytes, native[rounds / 2],
               ours[rounds / 2], ratios[rounds / 2], ratios[rounds / 4], ratios[rounds * 3 / 4]);
      if (!has_data(&started_calls[i])) break;
    }
  free_buffers();
  MPI_Finalize();
  return 0;
}
