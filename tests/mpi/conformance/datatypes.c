#include "exchange.h"
#include "kinds.h"
#include "themes.h"

#include <string.h>

static void go_through(const struct kinds* list, const int* counts, int number_of_counts) {
  for (int i = 0; i < list->count; ++i) {
    const struct kind* kind = &list->kind[i];
    for (int c = 0; c < number_of_counts; ++c) {
      if (!is_next_in_part()) continue;
      struct layout layout = {kind->type, counts[c], 0};
      int fits = kind->count_limit == 0 || layout.count <= kind->count_limit;
      if (fits) check_broadcast(kind->name, layout, (i + c) % world_size, MPI_COMM_WORLD);
      if (kind->count_limit != 0 || layout.count > 10000) continue; /* no room in an allgather; enough of it */
      check_allgather(kind->name, layout, layout, MPI_COMM_WORLD);
      check_allgather_in_place(kind->name, layout, MPI_COMM_WORLD);
    }
  }
}

/* The usual idiom: the root packs what it has, everybody receives MPI_PACKED and unpacks. */
static void packed(void) {
  double values[3] = {0, 0, 0};
  int flag = 0, position = 0;
  char buffer[256];
  memset(buffer, 0, sizeof buffer);
  if (world_rank == 0) {
    values[2] = 2.5;
    flag = 77;
    MPI_Pack(values, 3, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(&flag, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  }
  under_test.broadcast(buffer, sizeof buffer, MPI_PACKED, 0, MPI_COMM_WORLD);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, values, 3, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Unpack(buffer, sizeof buffer, &position, &flag, 1, MPI_INT, MPI_COMM_WORLD);
  check(values[2] == 2.5 && flag == 77, "MPI_PACKED: got %g and %d", values[2], flag);
}

void theme_datatypes(void) {
  struct kinds list;
  const int few[] = {0, 1, 2, 7};
  const int many[] = {0, 1, 2, 7, 100, 1400, 25000};
  make_named_kinds(&list);
  go_through(&list, few, 4);
  make_twelve_int_kinds(&list);
  go_through(&list, many, 7);
  free_kinds(&list);
  make_record_kinds(&list);
  go_through(&list, many, 6);
  free_kinds(&list);
  make_empty_kinds(&list);
  go_through(&list, few, 4);
  free_kinds(&list);
  packed();
}
