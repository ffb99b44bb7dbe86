/* Neighbourhood collectives on every kind of process topology: each block from whom, and out of which of its blocks,
 * MPI 4.1, section 8.6 says; nothing else written. */
#include "check.h"
#include "form.h"
#include "themes.h"

#include <stdlib.h>
#include <string.h>

static int size, rank;

/* Whom this rank hears and tells, in MPI's order; MPI_PROC_NULL where there is nobody. Of each block that comes: which
 * one of its sender's it is. */
static int *sources, *destinations, *origins;
static int indegree, outdegree;

static int value(int from, int block, int at) { return 1000000 * from + 10000 * block + at; }

/* Between a pair of ranks: as many numbers as both know. */
static int count_of(int from, int to, int scale) { return (3 * from + to) % 4 * scale; }

static void free_neighbors(void) { free(sources), free(destinations), free(origins); }

static void list_neighbors(MPI_Comm comm, int kind) {
  int dimensions, weighted;
  if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &dimensions);
    indegree = outdegree = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    MPI_Graph_neighbors_count(comm, rank, &indegree);
    outdegree = indegree;
  } else {
    MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted);
  }
  int* const weights = malloc((size_t)(indegree + outdegree + 1) * sizeof(int));
  sources = malloc((size_t)(indegree + 1) * sizeof(int)), destinations = malloc((size_t)(outdegree + 1) * sizeof(int));
  if (kind == MPI_CART)
    for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
  else if (kind == MPI_GRAPH)
    MPI_Graph_neighbors(comm, rank, indegree, sources);
  else
    MPI_Dist_graph_neighbors(comm, indegree, sources, weights, outdegree, destinations, weights + indegree);
  free(weights);
  if (kind != MPI_DIST_GRAPH) memcpy(destinations, sources, (size_t)indegree * sizeof(int));
}

/* In a grid what goes down comes from above. In graphs the first of several edges between two ranks brings the first
 * block, and so on: for that, everybody's destinations. */
static void find_origins(MPI_Comm comm, int kind) {
  enum { most = 256 };
  int mine[most], *all = malloc((size_t)size * most * sizeof(int));
  for (int i = 0; i < most; ++i) mine[i] = i < outdegree ? destinations[i] : MPI_PROC_NULL;
  MPI_Allgather(mine, most, MPI_INT, all, most, MPI_INT, comm);
  origins = malloc((size_t)(indegree + 1) * sizeof(int));
  for (int s = 0; s < indegree; ++s) {
    int before = 0;
    origins[s] = s ^ 1;
    if (kind == MPI_CART || sources[s] == MPI_PROC_NULL) continue;
    for (int other = 0; other < s; ++other) before += sources[other] == sources[s];
    for (origins[s] = 0;; ++origins[s])
      if (all[sources[s] * most + origins[s]] == rank && before-- == 0) break;
  }
  free(all);
}

/* Numbers one behind the other, with gaps, reversed, or single bytes: each end of an edge chooses by itself. Of nothing
 * there are no elements: Open MPI takes one without bytes for a message on this end and not on the other. */
static MPI_Datatype make_type(int kind, int count, int* elements) {
  MPI_Datatype type = kind == 3 ? MPI_BYTE : MPI_INT;
  *elements = kind == 3 ? 4 * count : kind == 0 ? count : count > 0;
  if (kind == 1) MPI_Type_vector(count, 1, 2, MPI_INT, &type);
  if (kind == 2) {
    int* lengths = malloc((size_t)(2 * count + 1) * sizeof *lengths);
    int* at = lengths + count;
    for (int i = 0; i < count; ++i) lengths[i] = 1, at[i] = count - 1 - i;
    MPI_Type_indexed(count, lengths, at, MPI_INT, &type);
    free(lengths);
  }
  if (kind == 1 || kind == 2) MPI_Type_commit(&type);
  return type;
}

static void free_type(MPI_Datatype* type) {
  if (*type != MPI_INT && *type != MPI_BYTE) MPI_Type_free(type);
}

/* Where number i lies, and where the next block begins. */
static int place(int kind, int count, int i) { return kind == 1 ? 2 * i : kind == 2 ? count - 1 - i : i; }
static int extent(int kind, int count) { return kind == 1 && count > 0 ? 2 * count - 1 : count; }

/* What came as block s: `count` numbers at `block`. Notes in `seen` where they lie. */
static void check_block(const char* what, int s, const int* block, int kind, int count, int origin, char* seen) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    wrong += block[place(kind, count, i)] != value(sources[s], origin, i);
    seen[place(kind, count, i)] = 1;
  }
  check(wrong == 0, "%s: of %d numbers of block %d, from %d, %d are wrong", what, count, s, sources[s], wrong);
}

static void check_untouched(const char* what, const int* data, const char* seen, size_t numbers) {
  size_t touched = 0;
  for (size_t i = 0; i < numbers; ++i) touched += !seen[i] && data[i] != -1;
  check(touched == 0, "%s wrote %zu numbers that are nobody's", what, touched);
}

/* All blocks alike. */
static void check_blocks(MPI_Comm comm, int scale, int kind, int is_allgather) {
  const char* const what = is_allgather ? "neighbor_allgather" : "neighbor_alltoall";
  const int send_kind = (kind + rank) % 4, blocks = is_allgather ? 1 : outdegree;
  int received, sent;
  MPI_Datatype type = make_type(kind, scale, &received), send_type = make_type(send_kind, scale, &sent);
  const size_t in = (size_t)indegree * (size_t)(2 * scale) + 1, out = (size_t)blocks * (size_t)(2 * scale) + 1;
  int *data = malloc(out * sizeof(int)), *found = malloc(in * sizeof(int));
  char* seen = calloc(in, 1);
  memset(data, -1, out * sizeof(int)), memset(found, -1, in * sizeof(int));
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < scale; ++i) data[b * extent(send_kind, scale) + place(send_kind, scale, i)] = value(rank, b, i);
  if (is_allgather)
    MPI_Neighbor_allgather(data, sent, send_type, found, received, type, comm);
  else
    MPI_Neighbor_alltoall(data, sent, send_type, found, received, type, comm);
  for (int s = 0; s < indegree; ++s)
    if (sources[s] != MPI_PROC_NULL)
      check_block(what, s, found + s * extent(kind, scale), kind, scale, is_allgather ? 0 : origins[s],
                  seen + s * extent(kind, scale));
  check_untouched(what, found, seen, in);
  free_type(&type), free_type(&send_type);
  free(data), free(found), free(seen);
}

/* Blocks of one side: counts and places, in elements and in bytes, and a type for each. */
struct side {
  int blocks, *lengths, *kinds, *counts, *at;
  MPI_Aint* bytes_at;
  MPI_Datatype* types;
  size_t numbers;
  int* data;
};

/* Displacements go down and leave gaps, so that blocks are not in order. Of one kind, or each of its own. */
static struct side make_side(int blocks, const int* peers, int turn, int scale, int sends) {
  const size_t all = (size_t)blocks + 1, room = (size_t)(6 * scale + 2);
  struct side made = {.blocks = blocks,
                      .lengths = malloc(all * sizeof(int)),
                      .kinds = malloc(all * sizeof(int)),
                      .counts = malloc(all * sizeof(int)),
                      .at = malloc(all * sizeof(int)),
                      .bytes_at = malloc(all * sizeof(MPI_Aint)),
                      .types = malloc(all * sizeof(MPI_Datatype)),
                      .numbers = all * room};
  made.data = malloc(made.numbers * sizeof(int));
  memset(made.data, -1, made.numbers * sizeof(int));
  for (int b = 0; b < blocks; ++b) {
    const int peer = peers[b] == MPI_PROC_NULL ? 0 : peers[b];
    made.lengths[b] = sends ? count_of(rank, peer, scale) : count_of(peer, rank, scale);
    made.kinds[b] = turn < 0 ? 0 : (turn + b + rank) % 4;
    made.at[b] = (int)((size_t)(blocks - 1 - b) * room);
    made.bytes_at[b] = (MPI_Aint)made.at[b] * (MPI_Aint)sizeof(int);
    made.types[b] = make_type(made.kinds[b], made.lengths[b], &made.counts[b]);
    for (int i = 0; sends && i < made.lengths[b]; ++i)
      made.data[made.at[b] + place(made.kinds[b], made.lengths[b], i)] = value(rank, b, i);
  }
  return made;
}

static void free_side(struct side* side) {
  for (int b = 0; b < side->blocks; ++b) free_type(&side->types[b]);
  free(side->lengths), free(side->kinds), free(side->counts), free(side->at), free(side->bytes_at), free(side->types);
  free(side->data);
}

static void check_side(const char* what, const struct side* in, int has_one_block) {
  char* seen = calloc(in->numbers, 1);
  for (int s = 0; s < indegree; ++s)
    if (sources[s] != MPI_PROC_NULL)
      check_block(what, s, in->data + in->at[s], in->kinds[s], in->lengths[s], has_one_block ? 0 : origins[s],
                  seen + in->at[s]);
  check_untouched(what, in->data, seen, in->numbers);
  free(seen);
}

/* A length and a type for each edge. */
static void check_pieces(MPI_Comm comm, int turn, int scale) {
  struct side out = make_side(outdegree, destinations, turn, scale, 1);
  struct side in = make_side(indegree, sources, turn + 1, scale, 0);
  MPI_Neighbor_alltoallw(out.data, out.counts, out.bytes_at, out.types, in.data, in.counts, in.bytes_at, in.types,
                         comm);
  check_side("neighbor_alltoallw", &in, 0);
  free_side(&out), free_side(&in);
}

static void check_parts(MPI_Comm comm, int scale) {
  struct side out = make_side(outdegree, destinations, -1, scale, 1), in = make_side(indegree, sources, -1, scale, 0);
  MPI_Neighbor_alltoallv(out.data, out.lengths, out.at, MPI_INT, in.data, in.lengths, in.at, MPI_INT, comm);
  check_side("neighbor_alltoallv", &in, 0);
  free_side(&out), free_side(&in);
}

/* To all the same, as long as its sender likes. */
static void check_allgatherv(MPI_Comm comm, int scale) {
  struct side in = make_side(indegree, sources, -1, scale, 0);
  const int length = rank % 3 * scale;
  int* data = malloc((size_t)(length + 1) * sizeof(int));
  for (int i = 0; i < length; ++i) data[i] = value(rank, 0, i);
  for (int s = 0; s < indegree; ++s) in.lengths[s] = sources[s] == MPI_PROC_NULL ? 1 : sources[s] % 3 * scale;
  MPI_Neighbor_allgatherv(data, length, MPI_INT, in.data, in.lengths, in.at, MPI_INT, comm);
  check_side("neighbor_allgatherv", &in, 1);
  free(data), free_side(&in);
}

static void check_all(MPI_Comm comm) {
  int kind;
  MPI_Topo_test(comm, &kind);
  MPI_Comm_size(comm, &size), MPI_Comm_rank(comm, &rank);
  list_neighbors(comm, kind);
  find_origins(comm, kind);
  for (int scale = 0; scale <= 30000; scale = 9 * scale + 1)
    for (int type = 0; type<4; type += scale> 1000 ? 3 : 1)
      for (int is_allgather = 0; is_allgather < 2; ++is_allgather)
        if (is_next_in_part()) check_blocks(comm, scale, type, is_allgather);
  for (int scale = 1; scale <= 9000; scale *= 20) {
    for (int turn = 0; turn < 4; ++turn)
      if (is_next_in_part()) check_pieces(comm, turn, scale);
    if (is_next_in_part()) check_parts(comm, scale);
    if (is_next_in_part()) check_allgatherv(comm, scale);
  }
  free_neighbors();
  MPI_Comm_free(&comm);
}

static MPI_Comm make_grid(int dimensions, int is_periodic) {
  int extents[3] = {0, 0, 0}, periods[3] = {is_periodic, 0, is_periodic};
  MPI_Comm comm;
  MPI_Dims_create(world_size, dimensions, extents);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periods, 0, &comm);
  return comm;
}

/* Everybody knows rank 0 and its neighbour to the right; rank 0 everybody. */
static MPI_Comm make_graph(void) {
  int *index = malloc((size_t)world_size * sizeof(int)), *edges = malloc((size_t)(4 * world_size) * sizeof(int));
  int count = 0;
  for (int r = 0; r < world_size; ++r) {
    if (r == 0)
      for (int other = 1; other < world_size; ++other) edges[count++] = other;
    else
      edges[count++] = 0;
    index[r] = count;
  }
  MPI_Comm comm;
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
  free(index), free(edges);
  return comm;
}

/* How many edges lead from one rank to another: some to themselves, some several, some ranks without any. */
static int edges_between(int from, int to, int density) {
  if (from % 5 == 4) return 0;
  uint64_t state = (uint64_t)(from * 64 + to + 1000 * density);
  const int drawn = (int)(next_random(&state) % 8);
  return drawn >= density ? 0 : drawn == 0 ? 2 : 1;
}

static MPI_Comm make_distributed(int density) {
  int *from = malloc((size_t)(2 * world_size + 1) * sizeof(int)),
      *to = malloc((size_t)(2 * world_size + 1) * sizeof(int));
  int in = 0, out = 0;
  for (int other = world_size - 1; other >= 0; --other) {
    for (int i = 0; i < edges_between(other, world_rank, density); ++i) from[in++] = other;
    for (int i = 0; i < edges_between(world_rank, other, density); ++i) to[out++] = other;
  }
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, from, out, to, to, MPI_INFO_NULL, 0,
                                 &comm); /* any weights */
  free(from), free(to);
  return comm;
}

void theme_neighbors(void) {
  for (int dimensions = 1; dimensions <= 3; ++dimensions)
    for (int is_periodic = 0; is_periodic < 2; ++is_periodic) check_all(make_grid(dimensions, is_periodic));
  check_all(make_graph());
  for (int density = 0; density <= 8; density += 4) check_all(make_distributed(density));
}
