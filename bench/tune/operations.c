/* All eleven collectives behind one call, with data that can be checked. */

#include <stdint.h>
#include <string.h>

#include "worker.h"

enum { BROADCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, BARRIER };

static const char* const names[OPERATIONS] = {"broadcast", "scatter", "gather",    "allgather",
                                              "alltoall",  "reduce",  "allreduce", "reduce_scatter",
                                              "scan",      "exscan",  "barrier"};

int find_operation(const char* name) {
  for (int i = 0; i < OPERATIONS; ++i)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

const char* operation_name(int operation) { return names[operation]; }

static int is_reduction(int operation) { return operation >= REDUCE && operation <= EXSCAN; }

size_t in_bytes(int operation, size_t bytes) {
  int blocks = operation == SCATTER || operation == ALLTOALL || operation == REDUCE_SCATTER ? job.ranks : 1;
  return operation == BARRIER ? 0 : bytes * (size_t)blocks;
}

size_t out_bytes(int operation, size_t bytes) {
  int blocks = operation == GATHER || operation == ALLGATHER || operation == ALLTOALL ? job.ranks : 1;
  return operation == BARRIER ? 0 : bytes * (size_t)blocks;
}

size_t defined_bytes(int operation, size_t bytes) {
  int only_root = operation == GATHER || operation == REDUCE;
  int is_defined = operation == EXSCAN ? job.rank > 0 : !only_root || job.rank == 0;
  return is_defined ? out_bytes(operation, bytes) : 0;
}

static MPI_Datatype element_of(size_t bytes) {
  return bytes % sizeof(double) == 0 ? MPI_DOUBLE : bytes % sizeof(int) == 0 ? MPI_INT : MPI_BYTE;
}

static size_t element_size(size_t bytes) {
  return bytes % sizeof(double) == 0 ? sizeof(double) : bytes % sizeof(int) == 0 ? sizeof(int) : 1;
}

/* Small whole numbers: a million of them add up exactly, in whatever order. */
static int value(size_t i) { return (int)((i * 7 + (size_t)job.rank * 13 + i / 255) % 61); }

void fill_input(int operation, size_t bytes, void* in) {
  size_t size = is_reduction(operation) ? element_size(bytes) : 1;
  for (size_t i = 0; i < in_bytes(operation, bytes) / size; ++i)
    if (size == sizeof(double))
      ((double*)in)[i] = value(i);
    else if (size == sizeof(int))
      ((int*)in)[i] = value(i);
    else
      ((uint8_t*)in)[i] = (uint8_t)value(i);
}

#define CALL(function, ...) (is_native ? PMPI_##function(__VA_ARGS__) : MPI_##function(__VA_ARGS__))

static void run_movement(int operation, int is_native, int n, void* in, void* out, MPI_Comm comm) {
  const MPI_Datatype type = MPI_BYTE;
  if (operation == BROADCAST)
    CALL(Bcast, job.rank == 0 ? in : out, n, type, 0, comm);
  else if (operation == SCATTER)
    CALL(Scatter, in, n, type, out, n, type, 0, comm);
  else if (operation == GATHER)
    CALL(Gather, in, n, type, out, n, type, 0, comm);
  else if (operation == ALLGATHER)
    CALL(Allgather, in, n, type, out, n, type, comm);
  else if (operation == ALLTOALL)
    CALL(Alltoall, in, n, type, out, n, type, comm);
  else
    CALL(Barrier, comm);
}

static void run_reduction(int operation, int is_native, size_t bytes, void* in, void* out, MPI_Comm comm) {
  const MPI_Datatype type = element_of(bytes);
  const MPI_Op sum = type == MPI_BYTE ? MPI_BOR : MPI_SUM;
  int n = (int)(bytes / element_size(bytes));
  if (operation == REDUCE)
    CALL(Reduce, in, out, n, type, sum, 0, comm);
  else if (operation == ALLREDUCE)
    CALL(Allreduce, in, out, n, type, sum, comm);
  else if (operation == REDUCE_SCATTER)
    CALL(Reduce_scatter_block, in, out, n, type, sum, comm);
  else if (operation == SCAN)
    CALL(Scan, in, out, n, type, sum, comm);
  else
    CALL(Exscan, in, out, n, type, sum, comm);
}

void run_operation(int operation, int is_native, size_t bytes, void* in, void* out, MPI_Comm comm) {
  if (is_reduction(operation))
    run_reduction(operation, is_native, bytes, in, out, comm);
  else
    run_movement(operation, is_native, (int)bytes, in, out, comm);
}
