/* Collectives in the functions that MPI calls for a communicator's attributes when it is freed. Half of the ranks set
 * their attribute before the first collective of the communicator, and half afterwards, so that a library in front of
 * MPI that keeps an attribute itself loses it before the program's function is called on some and after it on others.
 *
 *     parting [disconnect]
 *
 * Rank 0 prints "parting: ok". */
#include <mpi.h>
#include <stdio.h>

enum { calls = 40 };
static int wrong = 0;

static int use(MPI_Comm comm) {
  int rank = 0, size = 0, sum = 0, word = 0, bad = 0;
  static int long_one[20000];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int call = 0; call < calls; ++call) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    word = rank == call % size ? call : -1;
    MPI_Bcast(&word, 1, MPI_INT, call % size, comm);
    long_one[19999] = word;
    MPI_Bcast(long_one, 20000, MPI_INT, (call + 1) % size, comm);
    bad += sum != size * (size - 1) / 2 || word != call || long_one[19999] != call;
  }
  return bad;
}

static int part(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  wrong += use(comm);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int rank = 0, key = MPI_KEYVAL_INVALID, own = MPI_KEYVAL_INVALID, total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, part, &key, NULL);
  for (int round = 0; round < 6; ++round) {
    MPI_Comm comm;
    if (round % 3 == 2)
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank % 2 == 0) MPI_Comm_set_attr(comm, key, NULL);
    if (round % 2 == 0) wrong += use(comm);
    if (rank % 2 == 1) MPI_Comm_set_attr(comm, key, NULL);
    if (argc > 1)
      MPI_Comm_disconnect(&comm);
    else
      MPI_Comm_free(&comm);
  }
  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(total == 0 ? "parting: ok\n" : "parting: %d wrong\n", total);
  fflush(stdout);
  /* The same of MPI_COMM_SELF, as libraries do that must do something before MPI ends: on some ranks set before all
   * else, on some at the end. Their functions use MPI_COMM_WORLD, so these calls are collective, too. */
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, part, &own, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, own, NULL);
  MPI_Finalize();
  return total != 0;
}
