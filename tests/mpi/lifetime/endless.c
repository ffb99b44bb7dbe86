/* Collectives without end, for tests that kill or abort the job.
 *
 *     endless [abort-after N]
 *
 * Rank 0 prints the process number of every rank, one per line, then "running". With abort-after, the last rank calls
 * MPI_Abort with code 42 after N rounds. A rank dies of itself after five minutes: a test that was killed ends nothing.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_processes(int rank, int size) {
  int mine = (int)getpid();
  int* all = malloc((size_t)size * sizeof *all);
  MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) printf("%d\n", all[i]);
  if (rank == 0) printf("running\n");
  fflush(stdout);
  free(all);
}

int main(int argc, char** argv) {
  enum { bytes = 200000 };
  static char buffer[bytes], gathered[64 * 100];
  int rank = 0, size = 0;
  long rounds = argc > 2 ? atol(argv[2]) : -1;
  alarm(300);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 64) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); /* so that shared memory is in use before anybody is killed */
  MPI_Barrier(MPI_COMM_WORLD);
  print_processes(rank, size);
  for (long round = 0;; ++round) {
    MPI_Bcast(buffer, bytes, MPI_BYTE, (int)(round % size), MPI_COMM_WORLD);
    MPI_Allgather(buffer, 100, MPI_BYTE, gathered, 100, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round == rounds && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 42);
  }
}
