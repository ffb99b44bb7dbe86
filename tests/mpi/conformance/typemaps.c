#include "exchange.h"
#include "kinds.h"
#include "themes.h"

static const int counts[] = {1, 5, 100, 1500, 25000};

/* Every rank describes its twelve integers in another way. MPI asks only for equal type signatures, so one call may see
 * contiguous and scattered buffers at once; a library that decides "contiguous or packed" by looking at its own
 * argument deadlocks or mixes up bytes here. */
static void own_type_maps(const struct kinds* list) {
  for (int c = 0; c < 5; ++c)
    for (int turn = 0; turn < list->count; ++turn) {
      if (!is_next_in_part()) continue;
      const struct kind* mine = &list->kind[(world_rank + turn) % list->count];
      int count = counts[c];
      struct layout layout = {mine->type, count, 0};
      if (mine->count_limit != 0) layout = (struct layout){MPI_INT, 12 * count, 0};
      check_broadcast("own type map", layout, turn % world_size, MPI_COMM_WORLD);
      if (c == 4) continue; /* 1.2 MB from every rank is enough for the broadcast */
      struct layout plain = {MPI_INT, 12 * count, 0};
      check_allgather("own type map", layout, (turn + world_rank) % 2 ? plain : layout, MPI_COMM_WORLD);
      check_allgather("own type map", plain, layout, MPI_COMM_WORLD);
      check_allgather_in_place("own type map", layout, MPI_COMM_WORLD);
    }
}

/* Elements of different size too: four integers per element here, one there. */
static void own_elements(void) {
  MPI_Datatype four;
  MPI_Type_contiguous(4, MPI_INT, &four);
  MPI_Type_commit(&four);
  for (int c = 0; c < 5; ++c) {
    struct layout wide = {four, 3 * counts[c], 0}, narrow = {MPI_INT, 12 * counts[c], 0};
    check_broadcast("own element", world_rank % 2 ? wide : narrow, c % world_size, MPI_COMM_WORLD);
  }
  MPI_Type_free(&four);
}

/* An allgather may send one type and receive another of the same signature. (Intel MPI 2021.18 itself fails this.) */
static void send_one_receive_another(const struct kinds* list) {
  for (int i = 0; i < list->count; ++i) {
    const struct kind* from = &list->kind[i];
    const struct kind* into = &list->kind[(i + 5) % list->count];
    if (into->count_limit != 0 || !is_next_in_part()) continue;
    const struct layout twelve_ints = {MPI_INT, 36, 0};
    check_allgather(into->name, (struct layout){from->type, 3, 0}, (struct layout){into->type, 3, 0}, MPI_COMM_WORLD);
    check_allgather(into->name, twelve_ints, (struct layout){into->type, 3, 0}, MPI_COMM_WORLD);
    check_allgather(from->name, (struct layout){from->type, 3, 0}, twelve_ints, MPI_COMM_WORLD);
  }
}

void theme_typemaps(void) {
  struct kinds list;
  make_twelve_int_kinds(&list);
  own_type_maps(&list);
  own_elements();
  send_one_receive_another(&list);
  free_kinds(&list);
}
