/* What live communicators cost: makes COUNT of them, uses each for some short calls, and says how much shared memory
 * this job's ranks hold for Espalier then; with an argument more, also for long calls.
 *
 *     light COUNT [long]
 *
 * Rank 0 prints "light: S KB shared, P KB private for each rank" (of all communicators), or "light: wrong". */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest of Espalier's files among this process's descriptors: all ranks of the node share it. */
static long shared_kilobytes(void) {
  long most = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    char path[64], target[256] = "";
    struct stat file;
    snprintf(path, sizeof path, "/proc/self/fd/%.30s", entry->d_name);
    if (readlink(path, target, sizeof target - 1) < 0 || strstr(target, "memfd:espalier") == NULL) continue;
    if (stat(path, &file) == 0 && file.st_blocks / 2 > most) most = file.st_blocks / 2;
  }
  if (folder != NULL) closedir(folder);
  return most;
}

/* Anonymous memory that this process has touched. */
static long private_kilobytes(void) {
  char line[128];
  long kilobytes = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "RssAnon: %ld", &kilobytes);
  if (status != NULL) fclose(status);
  return kilobytes;
}

static int use(MPI_Comm comm, int seed, int is_long) {
  static int data[50000];
  int rank = 0, size = 0, sum = 0, bad = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int call = 0; call < 3; ++call) {
    int count = is_long ? 50000 : 4;
    data[count - 1] = rank == call % size ? seed : -1;
    MPI_Bcast(data, count, MPI_INT, call % size, comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    bad += data[count - 1] != seed || sum != size * (size - 1) / 2;
  }
  return bad;
}

int main(int argc, char** argv) {
  int rank = 0, wrong = 0, total = 0, count = argc > 1 ? atoi(argv[1]) : 100;
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page, which Intel MPI asks for, is 2 MB with its first byte */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm* comms = malloc((size_t)count * sizeof *comms);
  MPI_Barrier(MPI_COMM_WORLD);
  long shared = -shared_kilobytes();
  for (int i = 0; i < count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  long private = -private_kilobytes(); /* native has had its share */
  for (int i = 0; i < count; ++i) wrong += use(comms[i], i, argc > 2);
  shared += shared_kilobytes();
  private += private_kilobytes();
  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && total == 0) printf("light: %ld KB shared, %ld KB private for each rank\n", shared, private);
  if (rank == 0 && total != 0) printf("light: wrong\n");
  for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
