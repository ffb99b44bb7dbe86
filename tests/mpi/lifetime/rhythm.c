/* A program with a rhythm, for tests of what is recorded of it: 20 rounds of
 *
 *     the last rank computes for 5 ms; an allreduce of 1 KB in doubles; a broadcast of 256 bytes from the rank whose
 * turn it is; an allgather of 64 bytes among every other rank; an MPI_Iallreduce of 8 bytes with 3 ms of computation
 *     before it is waited for; and, where this MPI has them, a persistent broadcast with 1 ms before it is tested for.
 *
 * With a word behind its name it makes neighbourhood collectives instead, on a line of ranks, whose ends have one
 * neighbour, and on a graph in which every rank has those behind it: an alltoall of 32 bytes and, with counts, of 16 to
 * the rank below and 48 to the one above, and with types, of 32; a nonblocking allgather of 24 bytes; and among all
 * ranks MPI_Alltoallw with blocks of 40.
 *
 * Rank 0 prints "sum", which is right.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

typedef int make_bcast(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);

static void compute(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) continue;
}

static double overlap(double number) {
  double sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  compute(0.003);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return sum;
}

static void start_again(MPI_Request* request) {
  int is_done = 0;
  MPI_Start(request);
  compute(0.001);
  while (!is_done) MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
}

static MPI_Comm make_graph(int rank, int size) {
  int before[64], behind[64], ones[64];
  MPI_Comm graph;
  for (int i = 0; i < size; ++i) ones[i] = 1;
  for (int i = 0; i < rank; ++i) before[i] = i;
  for (int i = 0; rank + 1 + i < size; ++i) behind[i] = rank + 1 + i;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, before, ones, size - rank - 1, behind, ones, MPI_INFO_NULL, 0,
                                 &graph);
  return graph;
}

static void deal_with_types(char* in, char* out, int size, MPI_Comm line) {
  int tens[64], places[64];
  MPI_Datatype ints[64];
  const int two[2] = {8, 8};
  const MPI_Aint at[2] = {0, 64};
  for (int i = 0; i < size; ++i) tens[i] = 10, places[i] = 40 * i, ints[i] = MPI_INT;
  MPI_Alltoallw(in, tens, places, ints, out, tens, places, ints, MPI_COMM_WORLD);
  MPI_Neighbor_alltoallw(in, two, at, ints, out, two, at, ints, line);
}

static void hand_on(int rounds, int rank, int size) {
  static char in[64 * 64], out[64 * 64];
  const int none = 0, sends[2] = {16, 48}, receives[2] = {48, 16}, places[2] = {0, 64};
  MPI_Comm line, graph = make_graph(rank, size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &none, 0, &line);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request request;
    MPI_Neighbor_alltoall(in, 32, MPI_BYTE, out, 32, MPI_BYTE, line);
    MPI_Neighbor_alltoallv(in, sends, places, MPI_BYTE, out, receives, places, MPI_BYTE, line);
    deal_with_types(in, out, size, line);
    MPI_Ineighbor_allgather(in, 24, MPI_BYTE, out, 24, MPI_BYTE, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&line);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  enum { ROUNDS = 20 };
  char message[256] = {0}, block[64] = {0}, blocks[64 * 64];
  double in[128] = {0}, out[128], sum = 0;
  int rank, size;
  MPI_Comm half;
  MPI_Request kept = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  make_bcast* const make = (make_bcast*)dlsym(RTLD_DEFAULT, "MPI_Bcast_init");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    hand_on(ROUNDS, rank, size);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (make != NULL) make(message, sizeof message, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == size - 1) compute(0.005);
    MPI_Allreduce(in, out, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(message, sizeof message, MPI_BYTE, round % size, MPI_COMM_WORLD);
    MPI_Allgather(block, sizeof block, MPI_BYTE, blocks, sizeof block, MPI_BYTE, half);
    sum += overlap(rank);
    if (make != NULL) start_again(&kept);
  }
  if (make != NULL) MPI_Request_free(&kept);
  if (rank == 0) printf("sum %g\n", sum);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
