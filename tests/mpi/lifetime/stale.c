/* What MPI says of a communicator's handle after the communicator was freed, whatever others were used meanwhile. Rank
 * 0 prints a line for each call: "size: error", "barrier: error" and so on, or "ok". */
#include <mpi.h>
#include <stdio.h>

static const char* said(int code) { return code == MPI_SUCCESS ? "ok" : "error"; }

int main(int argc, char** argv) {
  int rank = 0, size = 0, one = 1, sum = 0;
  MPI_Comm freed, handle, other, half;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, freed);
  handle = freed;
  MPI_Comm_free(&freed);
  for (int call = 0; call < 20; ++call) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  }
  int codes[] = {MPI_Comm_size(handle, &size), MPI_Barrier(handle), MPI_Bcast(&one, 1, MPI_INT, 0, handle),
                 MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, handle)};
  if (rank == 0)
    printf("size: %s, barrier: %s, bcast: %s, allreduce: %s\n", said(codes[0]), said(codes[1]), said(codes[2]),
           said(codes[3]));
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
