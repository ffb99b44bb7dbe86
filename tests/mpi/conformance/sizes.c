#include "exchange.h"
#include "themes.h"

/* The edges where implementations change their mind: nothing, a byte, what fits beside a sequence number in a cache
 * line, shared-memory cells and segments, single-copy and rendezvous limits. */
static const int edges[] = {0,     1,     2,     3,     7,     8,      9,      31,     47,     48,    49,    55,
                            56,    57,    63,    64,    65,    127,    128,    129,    255,    1000,  1023,  1024,
                            1025,  4095,  4096,  4097,  8191,  8192,   8193,   12345,  16383,  16384, 16385, 32767,
                            32768, 32769, 65535, 65536, 65537, 131072, 131073, 262144, 300001, 524288};
static const int large[] = {1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 17, 8 << 20};

static void every_root_at_small_sizes(void) {
  const int sizes[] = {1, 40, 300, 5000, 20000};
  for (int i = 0; i < 5; ++i)
    for (int root = 0; root < world_size; ++root)
      if (is_next_in_part()) check_broadcast("every root", plain_bytes(sizes[i]), root, MPI_COMM_WORLD);
}

void theme_sizes(void) {
  every_root_at_small_sizes();
  int count = sizeof edges / sizeof edges[0];
  for (int i = 0; i < count; ++i) {
    if (!is_next_in_part()) continue;
    struct layout bytes = plain_bytes(edges[i]);
    check_broadcast("edges", bytes, i % world_size, MPI_COMM_WORLD);
    check_allgather("edges", bytes, bytes, MPI_COMM_WORLD);
    check_allgather_in_place("edges", bytes, MPI_COMM_WORLD);
  }
  count = sizeof large / sizeof large[0];
  for (int i = 0; i < count; ++i) {
    if (!is_next_in_part()) continue;
    struct layout share = plain_bytes(large[i] / world_size + i);
    check_broadcast("large", plain_bytes(large[i]), (world_size - 1) * (i % 2), MPI_COMM_WORLD);
    check_allgather("large", share, share, MPI_COMM_WORLD);
  }
}
