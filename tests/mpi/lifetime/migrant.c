/* Ranks that move: before each round every rank binds itself to another processor, and a fresh communicator elects its
 * leaders from what was true when the process started. Prints "N rounds right" at rank 0.
 *
 *     migrant ROUNDS */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void move_to(long processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((int)(processor % sysconf(_SC_NPROCESSORS_ONLN)), &set);
  sched_setaffinity(0, sizeof set, &set); /* forbidden: then we stay */
}

static int is_round_right(MPI_Comm comm, int rank, int size, int round) {
  enum { count = 3000, most = 64 };
  static int message[count], all[most];
  for (int i = 0; i < count; ++i) message[i] = rank == round % size ? round + i : -1;
  MPI_Bcast(message, count, MPI_INT, round % size, comm);
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
  int is_right = message[0] == round && message[count - 1] == round + count - 1;
  for (int i = 0; i < size; ++i) is_right = is_right && all[i] == i;
  return is_right;
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, right = 0;
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    move_to(rank + round);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const int mine = is_round_right(comm, rank, size, round);
    int everybodys = 0;
    MPI_Allreduce(&mine, &everybodys, 1, MPI_INT, MPI_MIN, comm);
    right += everybodys;
    MPI_Comm_free(&comm);
  }
  if (rank == 0) printf("%d rounds right\n", right);
  MPI_Finalize();
  return 0;
}
