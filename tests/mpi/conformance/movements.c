#include <string.h>

#include "kinds.h"
#include "movement.h"
#include "themes.h"

static const char* const names[] = {"scatter", "gather", "allgather", "alltoall"};

static void every_form(const char* what, MPI_Datatype send, MPI_Datatype receive, int count, int root, MPI_Comm comm) {
  for (int movement = scatter; movement <= alltoall; ++movement)
    for (int form = 0; form < 6; ++form) {
      struct movement_call call = {what, (enum movement)movement, form >= 2, 0, form % 2, send, receive, count, root,
                                   comm};
      if (form >= 4) call.gap = form == 4 ? 3 : -1;
      if (form >= 4) call.in_place = 0;
      if (call.in_place) call.send = receive;
      check_movement(call);
    }
}

static void sizes(MPI_Comm comm, int size) {
  static const int edges[] = {0, 1, 3, 8, 55, 56, 57, 500, 1000, 4096, 4145, 20000, 70001};
  for (unsigned i = 0; i < sizeof edges / sizeof edges[0]; ++i)
    every_form("bytes", MPI_BYTE, MPI_BYTE, edges[i], (int)i % size, comm);
  for (int root = 0; root < size; ++root) every_form("every root", MPI_INT, MPI_INT, 11, root, comm);
}

static void types(MPI_Comm comm, int size) {
  struct kinds list;
  make_twelve_int_kinds(&list);
  for (int i = 0; i < list.count; ++i) {
    const struct kind* from = &list.kind[i];
    const struct kind* into = &list.kind[(i * 5 + 2) % list.count];
    if (from->count_limit != 0 || into->count_limit != 0) continue;
    every_form(from->name, from->type, from->type, 3, i % size, comm);
    every_form(into->name, from->type, into->type, i % 2 ? 2 : 300, i % size, comm);
  }
  free_kinds(&list);
  make_record_kinds(&list);
  for (int i = 0; i < list.count; ++i) {
#ifdef OPEN_MPI /* whose MPI_Pack, up to 5.0, puts more than a few of these into the wrong places */
    if (strcmp(list.kind[i].name, "record of records, from below") == 0) continue;
#endif
    every_form(list.kind[i].name, list.kind[i].type, list.kind[i].type, 4, i % size, comm);
  }
  free_kinds(&list);
}

/* Back to back, kinds mixed, no barrier in between. */
static void series(MPI_Comm comm, int size) {
  uint64_t state = 4711;
  for (int i = 0; i < 200; ++i) {
    const uint64_t draw = next_random(&state);
    const int movement = (int)(draw % 4);
    struct movement_call call = {names[movement],
                                 (enum movement)movement,
                                 (int)(draw >> 8) % 2,
                                 (int)(draw >> 12) % 3,
                                 (int)(draw >> 16) % 2,
                                 MPI_INT,
                                 MPI_INT,
                                 (int)((draw >> 20) % (1u << (draw >> 40) % 12)),
                                 (int)((draw >> 48) % (unsigned)size),
                                 comm};
    if (call.in_place) call.gap = 0;
    check_movement(call);
  }
}

void theme_movements(void) {
  MPI_Comm part;
  sizes(MPI_COMM_WORLD, world_size);
  types(MPI_COMM_WORLD, world_size);
  series(MPI_COMM_WORLD, world_size);
  for (int colours = 1; colours <= 3; ++colours) {
    int size = 0;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % colours, -world_rank, &part);
    MPI_Comm_size(part, &size);
    series(part, size);
    MPI_Comm_free(&part);
  }
}
