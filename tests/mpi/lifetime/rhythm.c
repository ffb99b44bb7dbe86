/* A program with a rhythm, for tests of what is recorded of it: 20 rounds of
 *
 *     the last rank computes for 2 ms; an allreduce of 1 KB in doubles; a broadcast of 256 bytes from the rank whose
 * turn it is; an allgather of 64 bytes among every other rank; an MPI_Iallreduce of 8 bytes with 3 ms of computation
 *     before it is waited for; and, where this MPI has them, a persistent broadcast with 1 ms before it is tested for.
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
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (make != NULL) make(message, sizeof message, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == size - 1) compute(0.002);
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
