#define _DEFAULT_SOURCE
#include "exchange.h"
#include "themes.h"

#include <unistd.h>

static void doze(uint64_t* own) {
  uint64_t draw = next_random(own);
  if (draw % 8 == 0) usleep((useconds_t)(draw >> 8) % 400);
}

/* Back to back without anything in between that would line the ranks up: the fastest may be many calls ahead, so every
 * cell and flag is up for reuse while others still read it. */
static void back_to_back(int bytes, int most_calls, uint64_t* own) {
  const int calls = share_of(most_calls);
  for (int i = 0; i < calls; ++i) {
    doze(own);
    check_broadcast("rotating roots", plain_bytes(bytes), i % world_size, MPI_COMM_WORLD);
  }
  for (int i = 0; i < calls; ++i) {
    doze(own);
    check_broadcast("one root", plain_bytes(bytes), 0, MPI_COMM_WORLD);
  }
}

/* Operation, size and root drawn from a stream all ranks share; the pauses from a stream of their own. */
static void random_series(int calls, uint64_t* own) {
  uint64_t common = 2024u + (uint64_t)part_taken;
  for (int i = 0; i < share_of(calls); ++i) {
    uint64_t draw = next_random(&common);
    int bytes = (int)((draw >> 16) % (1u << (draw >> 8) % 18));
    doze(own);
    if (draw % 5 == 0)
      under_test.barrier(MPI_COMM_WORLD);
    else if (draw % 5 < 3)
      check_broadcast("random series", plain_bytes(bytes), (int)((draw >> 40) % (unsigned)world_size), MPI_COMM_WORLD);
    else
      check_allgather("random series", plain_bytes(bytes / 8), plain_bytes(bytes / 8), MPI_COMM_WORLD);
  }
}

void theme_skew(void) {
  uint64_t own = 77u + (uint64_t)world_rank;
  back_to_back(4, 200, &own);
  back_to_back(56, 100, &own);
  back_to_back(3000, 100, &own);
  back_to_back(40000, 30, &own);
  back_to_back(400000, 5, &own);
  random_series(400, &own);
}
