/* Broadcasts of 4 bytes that never wait at the root, for counting instructions (bench/instructions.sh).
 *
 * Every second call is followed by a native barrier: the root's ring of messages never fills, so its path through
 * MPI_Bcast is the same instructions every time. */

#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 1000, value = 42;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < calls; ++i) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (i % 2) PMPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return value == 42 ? 0 : 1;
}
