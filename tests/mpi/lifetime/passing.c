/* Counts what calls allocate that are native's, as a program makes them and past Espalier: MPI_ and PMPI_. Rank 0
 * prints "NAME: N more" for each operation, allocations of all its calls together, and in the end "passing: done". */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

enum { CALLS = 500, MOST = 16 };

/* glibc's own; whoever allocates in this process comes by here. */
void* __libc_malloc(size_t bytes);
static long allocations;
void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}

/* Blocks of different sizes; from everybody to a rank, of the same. */
static int rank, counts[MOST], sames[MOST], places[MOST];
static double in[4 * MOST], out[4 * MOST];

static void allgatherv(int past) {
  (past ? PMPI_Allgatherv : MPI_Allgatherv)(in, counts[rank], MPI_DOUBLE, out, counts, places, MPI_DOUBLE,
                                            MPI_COMM_WORLD);
}
static void reduce_scatter(int past) {
  (past ? PMPI_Reduce_scatter : MPI_Reduce_scatter)(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void scatterv(int past) {
  (past ? PMPI_Scatterv : MPI_Scatterv)(in, counts, places, MPI_DOUBLE, out, counts[rank], MPI_DOUBLE, 0,
                                        MPI_COMM_WORLD);
}
static void gatherv(int past) {
  (past ? PMPI_Gatherv : MPI_Gatherv)(in, counts[rank], MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void alltoallv(int past) {
  (past ? PMPI_Alltoallv : MPI_Alltoallv)(in, counts, places, MPI_DOUBLE, out, sames, places, MPI_DOUBLE,
                                          MPI_COMM_WORLD);
}

static long count(void (*call)(int past), int past) {
  for (int i = 0; i < CALLS; ++i) call(past); /* what is kept for good, MPI's requests and pages, is not counted */
  const long before = allocations;
  for (int i = 0; i < CALLS; ++i) call(past);
  return allocations - before;
}

static void compare(const char* name, void (*call)(int past)) {
  const long natives = count(call, 1), ours = count(call, 0);
  if (rank == 0) printf("%s: %ld more\n", name, ours - natives);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int r = 0; r < MOST; ++r) counts[r] = 1 + r % 3, sames[r] = 1 + rank % 3, places[r] = 4 * r;
  compare("allgatherv", allgatherv);
  compare("reduce_scatter", reduce_scatter);
  compare("scatterv", scatterv);
  compare("gatherv", gatherv);
  compare("alltoallv", alltoallv);
  if (rank == 0) puts("passing: done");
  MPI_Finalize();
  return 0;
}
