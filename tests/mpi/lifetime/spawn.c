/* Parents that start children, and collectives over all of them.
 *
 *     spawn CHILDREN [multiple] [-- WORD...]     e.g. spawn 2 -- env LD_PRELOAD=/path/to/libmpi.so ./spawn
 *
 * The command behind "--", by default this program itself, is started CHILDREN times; "multiple" starts half of them
 * each by MPI_Comm_spawn_multiple. Parents and children merge, and do allreduces, broadcasts and barriers over all,
 * then in their own world. Parent 0 prints "spawn: ok", or what is wrong, and how many of the children have Espalier:
 * "with Espalier: N". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { many = 20000 };

static int check(MPI_Comm comm) {
  static int numbers[many];
  int rank, size, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int round = 0; round < 30; ++round) {
    int mine = rank + round, sum = 0, root = round % size;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    wrong += sum != size * (size - 1) / 2 + size * round;
    for (int i = 0; i < many; ++i) numbers[i] = rank == root ? i + round : -1;
    MPI_Bcast(numbers, many, MPI_INT, root, comm);
    for (int i = 0; i < many; ++i) wrong += numbers[i] != i + round;
    MPI_Barrier(comm);
  }
  return wrong;
}

static MPI_Comm merge_with(MPI_Comm others, int is_child) {
  MPI_Comm all;
  MPI_Intercomm_merge(others, is_child, &all);
  return all;
}

/* Both halves of the family, in step. */
static int live_together(MPI_Comm others, int is_child) {
  int wrong = check(MPI_COMM_WORLD);
  MPI_Comm all = merge_with(others, is_child);
  wrong += check(all) + check(MPI_COMM_WORLD);
  int report[2] = {wrong, is_child && dlsym(RTLD_DEFAULT, "Espalier_Describe") != NULL}, total[2], rank;
  MPI_Reduce(report, total, 2, MPI_INT, MPI_SUM, 0, all);
  MPI_Comm_rank(all, &rank);
  if (rank == 0) printf("spawn: %s\nwith Espalier: %d\n", total[0] == 0 ? "ok" : "wrong", total[1]);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&others);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Comm others;
  alarm(60);
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&others);
  if (others == MPI_COMM_NULL) {
    const int children = argc > 1 ? atoi(argv[1]) : 2;
    const int is_multiple = argc > 2 && strcmp(argv[2], "multiple") == 0;
    char *own[] = {argv[0], NULL}, **command = own;
    for (int i = 2; i < argc; ++i)
      if (strcmp(argv[i], "--") == 0 && i + 1 < argc) command = argv + i + 1;
    if (is_multiple) {
      char* commands[] = {command[0], command[0]};
      char** arguments[] = {command + 1, command + 1};
      int counts[] = {children / 2, children - children / 2};
      MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
      MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    } else {
      MPI_Comm_spawn(command[0], command + 1, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    }
    live_together(others, 0);
  } else {
    live_together(others, 1);
  }
  MPI_Finalize();
  return 0;
}
