/* A program whose calls are counted: 500 allreduces, 20 barriers, and on rank 0 10 messages, 5 nonblocking allreduces
 * and as many waits. Rank 0 prints whether all results were right. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0, size = 0, wrong = 0, got = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 500; ++i) {
    int mine = rank + i, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2 + size * i;
  }
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 10 && size > 1; ++i) {
    if (rank == 0) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 5; ++i) {
    int mine = rank, sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += sum != size * (size - 1) / 2;
  }
  if (rank == 0) printf("program: %s\n", wrong ? "wrong" : "right");
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
