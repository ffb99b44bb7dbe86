/* Nonblocking collectives whose input and output are the same memory, which MPI forbids: of rooted ones, calls of the
 * root alone. MPICH refuses them where they are made, so that nothing is begun and nobody waits. Then a right call
 * works. Each rank prints what became of each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INTS = 2, MOST = 16, SECONDS = 20 };

static int rank;

static void tell(const char* what, int code) {
  printf("rank %d: %s %s\n", rank, what, code == MPI_SUCCESS ? "accepted" : "refused");
}

static void call_at_root(int* data, int* counts, int* places, MPI_Comm comm) {
  MPI_Request request;
  tell("gather", MPI_Igather(data, INTS, MPI_INT, data, INTS, MPI_INT, 0, comm, &request));
  tell("gatherv", MPI_Igatherv(data, INTS, MPI_INT, data, counts, places, MPI_INT, 0, comm, &request));
  tell("scatter", MPI_Iscatter(data, INTS, MPI_INT, data, INTS, MPI_INT, 0, comm, &request));
  tell("scatterv", MPI_Iscatterv(data, counts, places, MPI_INT, data, INTS, MPI_INT, 0, comm, &request));
  tell("reduce", MPI_Ireduce(data, data, INTS, MPI_INT, MPI_SUM, 0, comm, &request));
}

static void call_everywhere(int* data, int* counts, int* places, MPI_Datatype* types, MPI_Comm comm) {
  MPI_Request request;
  int* const own = data + rank * INTS;
  tell("allgather", MPI_Iallgather(own, INTS, MPI_INT, data, INTS, MPI_INT, comm, &request));
  tell("allgatherv", MPI_Iallgatherv(own, INTS, MPI_INT, data, counts, places, MPI_INT, comm, &request));
  tell("alltoall", MPI_Ialltoall(data, INTS, MPI_INT, data, INTS, MPI_INT, comm, &request));
  tell("alltoallv", MPI_Ialltoallv(data, counts, places, MPI_INT, data, counts, places, MPI_INT, comm, &request));
  tell("alltoallw", MPI_Ialltoallw(data, counts, places, types, data, counts, places, types, comm, &request));
  tell("allreduce", MPI_Iallreduce(data, data, INTS, MPI_INT, MPI_SUM, comm, &request));
  tell("reduce_scatter", MPI_Ireduce_scatter(data, data, counts, MPI_INT, MPI_SUM, comm, &request));
  tell("reduce_scatter_block", MPI_Ireduce_scatter_block(data, data, INTS, MPI_INT, MPI_SUM, comm, &request));
  tell("scan", MPI_Iscan(data, data, INTS, MPI_INT, MPI_SUM, comm, &request));
}

int main(int argc, char** argv) {
  int ranks, counts[MOST], places[MOST], sum = 0;
  MPI_Datatype types[MOST];
  MPI_Init(&argc, &argv);
  alarm(SECONDS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int r = 0; r < ranks; ++r) counts[r] = INTS, places[r] = r * INTS, types[r] = MPI_INT;
  int* const data = calloc((size_t)(INTS * ranks), sizeof *data);
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm comms[] = {MPI_COMM_WORLD, own};
  for (int c = 0; c < 2; ++c) {
    MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN);
    if (rank == 0) call_at_root(data, counts, places, comms[c]);
    call_everywhere(data, counts, places, types, comms[c]);
    for (int i = 0; i < 12; ++i) {
      MPI_Request request;
      MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[c], &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    printf("rank %d: then a sum of %d\n", rank, sum);
  }
  free(data);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
