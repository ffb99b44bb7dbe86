#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

/* Room for so many edges to a rank and from it. */
static void make_room(struct graph* graph, int edges) {
  graph->source = allocate(sizeof(int) * (size_t)(edges + 1));
  graph->destination = allocate(sizeof(int) * (size_t)(edges + 1));
  graph->sources = graph->destinations = 0;
}

static void make_grid(MPI_Comm comm, int ranks, struct graph* graph) {
  enum { DIMENSIONS = 2 };
  int extents[DIMENSIONS] = {0, 0}, periods[DIMENSIONS];
  MPI_Dims_create(ranks, DIMENSIONS, extents);
  for (int d = 0; d < DIMENSIONS; ++d) periods[d] = extents[d] > 2;
  PMPI_Cart_create(comm, DIMENSIONS, extents, periods, 0, &graph->comm);
  make_room(graph, 2 * DIMENSIONS);
  graph->sources = graph->destinations = 2 * DIMENSIONS;
  for (int d = 0; d < DIMENSIONS; ++d)
    PMPI_Cart_shift(graph->comm, d, 1, &graph->source[2 * d], &graph->source[2 * d + 1]);
  memcpy(graph->destination, graph->source, sizeof(int) * (size_t)graph->sources);
}

/* Of the edges that are listed. Weights mean nothing here: compilers take MPI_UNWEIGHTED for an array without
 * elements. */
static void make_listed(MPI_Comm comm, struct graph* graph) {
  PMPI_Dist_graph_create_adjacent(comm, graph->sources, graph->source, graph->source, graph->destinations,
                                  graph->destination, graph->destination, MPI_INFO_NULL, 0, &graph->comm);
}

enum { AXES = 3 };

/* Who lies so many steps away along each axis; MPI_PROC_NULL beyond an end. */
static int find_around(const int extents[AXES], const int me[AXES], const int steps[AXES]) {
  int rank = 0;
  for (int d = 0; d < AXES; ++d) {
    int at = me[d] + steps[d];
    if (extents[d] > 2) at = (at + extents[d]) % extents[d];
    if (at < 0 || at >= extents[d]) return MPI_PROC_NULL;
    rank = rank * extents[d] + at;
  }
  return rank;
}

static void make_stencil(MPI_Comm comm, int ranks, int rank, struct graph* graph) {
  enum { POINTS = 27, HERE = POINTS / 2 };
  int extents[AXES] = {0, 0, 0}, me[AXES];
  MPI_Dims_create(ranks, AXES, extents);
  for (int d = AXES - 1; d >= 0; --d) me[d] = rank % extents[d], rank /= extents[d];
  make_room(graph, POINTS);
  for (int point = 0; point < POINTS; ++point) {
    const int steps[AXES] = {point / 9 - 1, point / 3 % 3 - 1, point % 3 - 1};
    const int other = point == HERE ? MPI_PROC_NULL : find_around(extents, me, steps);
    if (other == MPI_PROC_NULL) continue;
    graph->source[graph->sources++] = graph->destination[graph->destinations++] = other;
  }
  make_listed(comm, graph);
}

/* A generator that everybody runs alike (Numerical Recipes' multiplier and increment). */
static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static void make_random(MPI_Comm comm, int ranks, int rank, int edges, struct graph* graph) {
  unsigned state = 1;
  int* const others = allocate(sizeof(int) * (size_t)ranks);
  make_room(graph, ranks);
  for (int from = 0; from < ranks; ++from) {
    int left = 0;
    for (int to = 0; to < ranks; ++to)
      if (to != from) others[left++] = to;
    for (int i = 0; i < edges && left > 0; ++i) {
      const int at = (int)draw(&state, (unsigned)left), to = others[at];
      others[at] = others[--left];
      if (from == rank) graph->destination[graph->destinations++] = to;
      if (to == rank) graph->source[graph->sources++] = from;
    }
  }
  free(others);
  make_listed(comm, graph);
}

int make_graph(const char* name, MPI_Comm comm, struct graph* graph) {
  static const char random[] = "random:";
  int ranks, rank;
  PMPI_Comm_size(comm, &ranks);
  PMPI_Comm_rank(comm, &rank);
  if (strcmp(name, "grid") == 0) return make_grid(comm, ranks, graph), 1;
  if (strcmp(name, "stencil") == 0) return make_stencil(comm, ranks, rank, graph), 1;
  if (strncmp(name, random, sizeof random - 1) != 0) return 0;
  char* end;
  const long edges = strtol(name + sizeof random - 1, &end, 10);
  if (*end != '\0' || edges < 1 || edges > 1 << 20) return 0;
  return make_random(comm, ranks, rank, (int)edges, graph), 1;
}
