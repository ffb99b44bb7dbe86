/* Collectives at the last moment: MPI_Finalize first frees MPI_COMM_SELF, and the callbacks of its attributes may still
 * use MPI. Whatever a library in front of MPI tore down by then, these calls must work. Rank 0 prints "farewell: ok".
 */
#include <mpi.h>
#include <stdio.h>

static int say_goodbye(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  int rank = 0, size = 0, word = 0, all[64] = {0}, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 20; ++round) {
    word = rank == size - 1 ? 77 + round : 0;
    MPI_Bcast(&word, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += word != 77 + round;
    for (int i = 0; i < size; ++i) wrong += all[i] != i;
  }
  int total = 0;
  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(total == 0 ? "farewell: ok\n" : "farewell: %d wrong\n", total);
  fflush(stdout);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Init(&argc, &argv);
  if (argc > 1) MPI_Barrier(MPI_COMM_WORLD); /* with an argument: after earlier use, else the callback is the first */
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say_goodbye, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Finalize();
  return 0;
}
