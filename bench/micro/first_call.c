/* The first collective of a process and of a communicator: what setting up costs. The same program without the library
 * shows what the MPI itself takes.
 *
 *   mpiexec -n 4 bench_first_call        espalier run -n 4 --virtual-nodes 2 -- bench_first_call
 *
 * Prints, in ms and for the slowest rank: the first broadcast of the process, the first one of a communicator (median
 * and worst of 21 duplicates), and the second one of a communicator. ESPALIER_VERBOSE=2 tells the parts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 21, BYTES = 64 };

/* Of the slowest rank, in ms. What is not measured goes past the library: PMPI. */
static double time_broadcast(MPI_Comm comm) {
  char data[BYTES] = {0};
  double mine = 0, slowest = 0;
  PMPI_Barrier(MPI_COMM_WORLD);
  mine = PMPI_Wtime();
  MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm);
  mine = 1e3 * (PMPI_Wtime() - mine);
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  double first[ROUNDS], second[ROUNDS], first_of_all;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Barrier(MPI_COMM_WORLD); /* connections of the MPI itself are made */
  first_of_all = time_broadcast(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    first[round] = time_broadcast(comm);
    second[round] = time_broadcast(comm);
    MPI_Comm_free(&comm);
  }
  qsort(first, ROUNDS, sizeof first[0], by_value);
  qsort(second, ROUNDS, sizeof second[0], by_value);
  if (rank == 0)
    printf("%d ranks, ms: first of the process %.2f; of a communicator %.3f (worst %.2f); second %.3f\n", size,
           first_of_all, first[ROUNDS / 2], first[ROUNDS - 1], second[ROUNDS / 2]);
  MPI_Finalize();
  return 0;
}
