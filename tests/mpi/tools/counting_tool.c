/* A tool of the profiling interface: counts the program's calls, and says at MPI_Finalize how many it saw, on rank 0.
 * Built as a library that is preloaded or linked, and into a program. */
#include <mpi.h>
#include <stdio.h>

static int allreduces, barriers, sends, waits, starts, inits;
static int messages; /* that the program does not send so */

int MPI_Init(int* count, char*** words) {
  ++inits;
  return PMPI_Init(count, words);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++messages;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  ++messages;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  ++starts;
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf("tool: %d init, %d allreduce, %d barrier, %d send, %d iallreduce, %d wait\n", inits, allreduces, barriers,
           sends, starts, waits);
  if (rank == 0 && messages > 0) printf("tool: messages: %d\n", messages);
  fflush(stdout);
  return PMPI_Finalize();
}
