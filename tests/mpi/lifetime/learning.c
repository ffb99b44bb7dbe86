/* A program that repeats its calls, as one that Espalier learns from.
 *
 *   learning CALLS
 *
 * Every collective with whole numbers, whose results are checked, also along the edges of a line of ranks; and sums of
 * doubles whose last digits depend on the order of operands: each call must give the bits that the first one gave, on
 * all ranks. On a communicator of all ranks and on one of the even ones, which makes more calls. Prints "passed" or
 * what failed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 4096 };

static int in[(longest + 64) * 64], out[(longest + 64) * 64];
static int failed, world_rank;

static void expect(int condition, const char* what, int call) {
  if (condition || failed) return;
  failed = 1;
  printf("rank %d: call %d of %s went wrong\n", world_rank, call, what);
}

/* Rank r has r numbers more than rank 0. */
static void uneven(MPI_Comm comm, int count, int call) {
  int rank, ranks, counts[64], places[64], all = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int r = 0; r < ranks; ++r) counts[r] = count + r, places[r] = all, all += counts[r];
  for (int i = 0; i < all; ++i) in[i] = rank + i + call;
  MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
  expect(out[all - 1] == ranks - 1 + counts[ranks - 1] - 1 + call, "allgatherv", call);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_MAX, comm);
  expect(out[0] == ranks - 1 + places[rank] + call, "reduce_scatter", call);
}

/* On a line: down comes from the rank below, up from the one above; at the ends from nobody. */
static void neighbors(MPI_Comm line, int count, int call) {
  int rank, below, above;
  MPI_Comm_rank(line, &rank);
  MPI_Cart_shift(line, 0, 1, &below, &above);
  for (int i = 0; i < 2 * count; ++i) in[i] = rank + i + call;
  MPI_Neighbor_alltoall(in, count, MPI_INT, out, count, MPI_INT, line);
  expect(below == MPI_PROC_NULL || out[count - 1] == below + 2 * count - 1 + call, "neighbor_alltoall", call);
  expect(above == MPI_PROC_NULL || out[count] == above + call, "neighbor_alltoall", call);
  MPI_Neighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, line);
  expect(below == MPI_PROC_NULL || out[count - 1] == below + count - 1 + call, "neighbor_allgather", call);
  expect(above == MPI_PROC_NULL || out[count] == above + call, "neighbor_allgather", call);
}

static void whole_numbers(MPI_Comm comm, int count, int call) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int root = call % ranks;
  for (int i = 0; i < count; ++i) in[i] = rank + i + call;
  memcpy(out, in, (size_t)count * sizeof(int));
  MPI_Bcast(out, count, MPI_INT, root, comm);
  expect(out[count - 1] == root + count - 1 + call, "broadcast", call);
  MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
  expect(out[count - 1] == ranks - 1 + count - 1 + call, "allreduce", call);
  MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
  expect(out[(ranks - 1) * count] == ranks - 1 + call, "allgather", call);
  MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
  expect(rank != root || out[(ranks - 1) * count] == ranks - 1 + call, "gather", call);
  uneven(comm, count, call);
  MPI_Barrier(comm);
}

/* Of numbers so different that every order has its own rounding. */
static void sums(MPI_Comm comm, int count, int call) {
  static double mine[longest], sum[longest], first[2][longest];
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < count; ++i) mine[i] = 1.0 / (3 + rank * 7 + i) * (rank % 2 == 0 ? 1e8 : 1e-8);
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
  double* const known = first[comm == MPI_COMM_WORLD];
  if (call == 0) memcpy(known, sum, (size_t)count * sizeof(double));
  expect(memcmp(known, sum, (size_t)count * sizeof(double)) == 0, "sum of doubles", call);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Comm even, line;
  int ranks, ends_open = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &even);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &ends_open, 0, &line);
  for (int call = 0; call < calls; ++call) {
    whole_numbers(MPI_COMM_WORLD, call % 3 == 0 ? longest : 5, call);
    neighbors(line, 7, call);
    sums(MPI_COMM_WORLD, 33, call);
    if (world_rank % 2 == 0) whole_numbers(even, 9, call);
  }
  int all = 0;
  PMPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (world_rank == 0) puts(all ? "failed" : "passed");
  MPI_Comm_free(&even);
  MPI_Comm_free(&line);
  MPI_Finalize();
  return all;
}
