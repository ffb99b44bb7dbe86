#include "exchange.h"
#include "kinds.h"
#include "themes.h"

void theme_bottom(void) {
  struct kinds list;
  const int counts[] = {1, 3, 2000};
  make_twelve_int_kinds(&list);
  for (int i = 0; i < list.count; ++i)
    for (int c = 0; c < 3; ++c) {
      const struct kind* kind = &list.kind[i];
      if (kind->count_limit != 0) continue;
      struct layout absolute = {kind->type, counts[c], 1}, relative = {kind->type, counts[c], 0};
      check_broadcast("MPI_BOTTOM", absolute, i % world_size, MPI_COMM_WORLD);
      check_allgather("MPI_BOTTOM, send", absolute, relative, MPI_COMM_WORLD);
      check_allgather("MPI_BOTTOM, receive", relative, absolute, MPI_COMM_WORLD);
      check_allgather_in_place("MPI_BOTTOM", absolute, MPI_COMM_WORLD);
    }
  free_kinds(&list);
}
