/* An MPI whose messages fail after a hundred of them: preloaded in front of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

typedef int Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  static int calls;
  static Isend* next;
  if (next == 0) next = (Isend*)dlsym(RTLD_NEXT, "PMPI_Isend");
  return ++calls > 100 ? MPI_ERR_NO_MEM : next(data, count, type, to, tag, comm, request);
}
