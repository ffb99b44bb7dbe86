/* Very many short calls, for tests of how they are counted where only some of them are timed:
 *
 *     20000 allgathers of 8 bytes, each 20th of them with counts, all of 8; after each 10th a broadcast of 4 bytes,
 * whose roots take turns; 500 allreduces of a double on a duplicate, which is freed then, and 300 on another, which is
 * not; and 64 alltoalls of 128 KB. With an argument the last rank comes so many milliseconds late to each 1000th
 * allgather.
 *
 * Prints nothing. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void reduce(MPI_Comm comm, int calls) {
  for (int i = 0; i < calls; ++i) {
    double number = i, sum = 0;
    MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, counts[64], places[64], late = argc > 1 ? atoi(argv[1]) : 0;
  double all[64];
  MPI_Comm first, second;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int r = 0; r < ranks; ++r) counts[r] = 1, places[r] = r;
  for (int i = 0; i < 20000; ++i) {
    const double mine = i + rank;
    if (i % 1000 == 999 && rank == ranks - 1 && late > 0) usleep((useconds_t)late * 1000);
    if (i % 20 == 0)
      MPI_Allgatherv(&mine, 1, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    else
      MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    int number = i;
    if (i % 10 == 0) MPI_Bcast(&number, 1, MPI_INT, i / 10 % ranks, MPI_COMM_WORLD);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  reduce(first, 500);
  MPI_Comm_free(&first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  reduce(second, 300);
  char* const blocks = calloc(2, (size_t)ranks << 17);
  for (int i = 0; i < 64; ++i)
    MPI_Alltoall(blocks, 1 << 17, MPI_CHAR, blocks + ((size_t)ranks << 17), 1 << 17, MPI_CHAR, MPI_COMM_WORLD);
  free(blocks);
  MPI_Finalize();
  return 0;
}
