#include "exchange.h"
#include "themes.h"

#include <dirent.h>
#include <stdio.h>

static int count_descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

static int count_mappings(void) {
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  for (int c = 0; maps != NULL && (c = fgetc(maps)) != EOF;) count += c == '\n';
  if (maps != NULL) fclose(maps);
  return count;
}

/* Makes and frees communicators; every third is never used, as in programs that duplicate in every library call. */
static void churn(int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm;
    if (i % 4 == 3)
      MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 3 != 0) {
      int size = 0;
      MPI_Comm_size(comm, &size);
      check_broadcast("many", plain_bytes(32 + i % 3 * 3000), i % size, comm);
      check_allgather("many", plain_bytes(8), plain_bytes(8), comm);
      under_test.barrier(comm);
    }
    MPI_Comm_free(&comm);
  }
}

/* Many alive at the same time, each used once. */
static void crowd(void) {
  enum { alive = 100 };
  MPI_Comm comm[alive];
  for (int i = 0; i < alive; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
  for (int i = 0; i < alive; ++i) check_communicator("crowd", comm[i]);
  for (int i = 0; i < alive; ++i) MPI_Comm_free(&comm[i]);
}

void theme_many(void) {
  churn(many_communicators / 10);
  crowd();
  int descriptors = count_descriptors(), mappings = count_mappings();
  churn(many_communicators);
  crowd();
  int more_descriptors = count_descriptors() - descriptors, more_mappings = count_mappings() - mappings;
  /* malloc and the MPI underneath may add a few arenas or pools; a leak would add one per communicator. */
  check(more_descriptors <= 2, "%d more open descriptors", more_descriptors);
  check(more_mappings <= 30, "%d more mappings", more_mappings);
}
