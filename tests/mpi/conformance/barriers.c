#define _DEFAULT_SOURCE
#include "exchange.h"
#include "themes.h"

#include <unistd.h>

void theme_barriers(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);
  for (int i = 0; i < 4 * world_size; ++i) {
    int late = i % world_size == world_rank;
    if (late) usleep(300);
    check_barrier("one rank late", MPI_COMM_WORLD);
    if (late) usleep(300);
    check_barrier("half of the ranks", half);
  }
  for (int i = 0; i < share_of(400); ++i) under_test.barrier(MPI_COMM_WORLD);
  check_barrier("after hundreds", MPI_COMM_WORLD);
  check_barrier("alone", MPI_COMM_SELF);
  MPI_Comm_free(&half);
}
