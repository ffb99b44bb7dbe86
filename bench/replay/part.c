#include "part.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../common/job.h"

/* ---- the calls ------------------------------------------------------------------------------------------------------
 * CALL(name, Function, name without MPI_I, arguments…) makes native_name and preloaded_name: the same call of
 * PMPI_Function and of MPI_Function, and their nonblocking and persistent forms. */

#define FORMS(title, P, name, Function, ...)                                        \
  static void title##_run(const struct part* p, int root) {                         \
    (void)root;                                                                     \
    P##MPI_##Function(__VA_ARGS__);                                                 \
  }                                                                                 \
  static void title##_start(const struct part* p, int root, MPI_Request* request) { \
    (void)root;                                                                     \
    P##MPI_I##name(__VA_ARGS__, request);                                           \
  }                                                                                 \
  static void title##_init(const struct part* p, int root, MPI_Request* request) {  \
    (void)root;                                                                     \
    P##MPI_##Function##_init(__VA_ARGS__, MPI_INFO_NULL, request);                  \
  }                                                                                 \
  static const struct forms title = {title##_run, title##_start, title##_init};
#define CALL(name, Function, ...)                      \
  FORMS(native_##name, P, name, Function, __VA_ARGS__) \
  FORMS(preloaded_##name, , name, Function, __VA_ARGS__)

CALL(bcast, Bcast, p->out, p->count, p->type, root, p->comm)
CALL(scatter, Scatter, p->in, p->count, p->type, p->out, p->count, p->type, root, p->comm)
CALL(gather, Gather, p->in, p->count, p->type, p->out, p->count, p->type, root, p->comm)
CALL(allgather, Allgather, p->in, p->count, p->type, p->out, p->count, p->type, p->comm)
CALL(alltoall, Alltoall, p->in, p->count, p->type, p->out, p->count, p->type, p->comm)
CALL(scatterv, Scatterv, p->in, p->counts, p->offsets, p->type, p->out, p->count, p->type, root, p->comm)
CALL(gatherv, Gatherv, p->in, p->count, p->type, p->out, p->counts, p->offsets, p->type, root, p->comm)
CALL(allgatherv, Allgatherv, p->in, p->count, p->type, p->out, p->counts, p->offsets, p->type, p->comm)
CALL(alltoallv, Alltoallv, p->in, p->own, p->own_offsets, p->type, p->out, p->counts, p->offsets, p->type, p->comm)
CALL(alltoallw, Alltoallw, p->in, p->own, p->own_offsets, p->types, p->out, p->counts, p->offsets, p->types, p->comm)
CALL(reduce, Reduce, p->in, p->out, p->count, p->type, MPI_SUM, root, p->comm)
CALL(allreduce, Allreduce, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter, Reduce_scatter, p->in, p->out, p->counts, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter_block, Reduce_scatter_block, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(scan, Scan, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(exscan, Exscan, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(barrier, Barrier, p->comm)
CALL(neighbor_allgather, Neighbor_allgather, p->in, p->count, p->type, p->out, p->count, p->type, p->comm)
CALL(neighbor_allgatherv, Neighbor_allgatherv, p->in, p->count, p->type, p->out, p->counts, p->offsets, p->type,
     p->comm)
CALL(neighbor_alltoall, Neighbor_alltoall, p->in, p->count, p->type, p->out, p->count, p->type, p->comm)
CALL(neighbor_alltoallv, Neighbor_alltoallv, p->in, p->own, p->own_offsets, p->type, p->out, p->counts, p->offsets,
     p->type, p->comm)
CALL(neighbor_alltoallw, Neighbor_alltoallw, p->in, p->own, p->own_places, p->types, p->out, p->counts, p->places,
     p->types, p->comm)

static const struct operation {
  const char* name;
  int is_reduction;
  const struct forms* forms[LIBRARIES];
} operations[] = {
#define ENTRY(name, is_reduction) {#name, is_reduction, {&native_##name, &preloaded_##name}},
    ENTRY(bcast, 0) ENTRY(scatter, 0) ENTRY(gather, 0) ENTRY(allgather, 0) ENTRY(alltoall, 0) ENTRY(scatterv, 0)
        ENTRY(gatherv, 0) ENTRY(allgatherv, 0) ENTRY(alltoallv, 0) ENTRY(alltoallw, 0) ENTRY(reduce, 1)
            ENTRY(allreduce, 1) ENTRY(reduce_scatter, 1) ENTRY(reduce_scatter_block, 1) ENTRY(scan, 1) ENTRY(exscan, 1)
                ENTRY(barrier, 0) ENTRY(neighbor_allgather, 0) ENTRY(neighbor_allgatherv, 0) ENTRY(neighbor_alltoall, 0)
                    ENTRY(neighbor_alltoallv, 0) ENTRY(neighbor_alltoallw, 0)
#undef ENTRY
};

static const struct operation* find_operation(const char* name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
    if (strcmp(operations[i].name, name) == 0) return &operations[i];
  fail("no such operation: ", name);
}

/* ---- parts ----------------------------------------------------------------------------------------------------------
 */

static int is_neighborly(const struct piece* piece) { return strncmp(piece->operation, "neighbor", 8) == 0; }

static void set_type(const struct operation* operation, struct part* part) {
  int element = 8;
  for (int i = 0; i < part->ranks; ++i)
    if (part->piece->blocks[i] % 8 != 0) element = 4;
  part->type = !operation->is_reduction ? MPI_BYTE : element == 8 ? MPI_DOUBLE : MPI_FLOAT;
  part->element = operation->is_reduction ? element : 1;
  part->count = part->piece->blocks[part->me] / part->element;
}

static int* allocate_ints(int count) { return allocate((size_t)count * sizeof(int)); }

static MPI_Aint* as_places(const int* offsets, int count, int most) {
  MPI_Aint* const places = allocate((size_t)most * sizeof *places);
  for (int i = 0; i < count; ++i) places[i] = offsets[i];
  return places;
}

/* Blocks of `in` members, `from` those or from all, and `out` blocks of this rank's; and room for either. */
static void make_blocks(struct part* part, int in, const int* from, int out) {
  const int most = in > out ? in : out;
  size_t bytes = 0, own = (size_t)part->piece->blocks[part->me] * (size_t)out;
  int offset = 0;
  part->counts = allocate_ints(most);
  part->offsets = allocate_ints(most);
  part->own = allocate_ints(most);
  part->own_offsets = allocate_ints(most);
  for (int i = 0; i < in; ++i) {
    const int block = part->piece->blocks[from == NULL ? i : from[i]];
    part->counts[i] = block / part->element;
    part->offsets[i] = offset;
    offset += part->counts[i];
    bytes += (size_t)block;
  }
  for (int i = 0; i < out; ++i) part->own[i] = part->count, part->own_offsets[i] = i * part->count;
  part->places = as_places(part->offsets, in, most);
  part->own_places = as_places(part->own_offsets, out, most);
  part->types = allocate((size_t)most * sizeof *part->types);
  for (int i = 0; i < most; ++i) part->types[i] = part->type;
  if (own > bytes) bytes = own;
  if ((size_t)part->piece->blocks[part->me] > bytes) bytes = (size_t)part->piece->blocks[part->me];
  part->in = allocate(bytes);
  part->out = allocate(bytes);
  memset(part->in, 0, bytes);
  memset(part->out, 0, bytes);
}

static int are_equal(int count, const int* a, const int* b) { return memcmp(a, b, (size_t)count * sizeof(int)) == 0; }

/* Of the same ranks, and with the same neighbours. */
static int have_one_communicator(const struct piece* a, const struct piece* b) {
  if (a->size != b->size || !are_equal(a->size, a->members, b->members)) return 0;
  for (int i = 0; i < a->size; ++i) {
    const struct neighbors *x = &a->neighbors[i], *y = &b->neighbors[i];
    if (x->in != y->in || x->out != y->out) return 0;
    if (!are_equal(x->in, x->from, y->from) || !are_equal(x->out, x->to, y->to)) return 0;
  }
  return is_neighborly(a) == is_neighborly(b);
}

static MPI_Comm make_communicator(const struct piece* piece) {
  const int me = place_in(piece);
  MPI_Comm all, graph;
  PMPI_Comm_split(MPI_COMM_WORLD, me < 0 ? MPI_UNDEFINED : 0, me, &all);
  if (me < 0 || !is_neighborly(piece)) return all;
  const struct neighbors* const mine = &piece->neighbors[me];
  int* const weights = allocate_ints(mine->in + mine->out + 1);
  for (int i = 0; i < mine->in + mine->out; ++i) weights[i] = 1;
  PMPI_Dist_graph_create_adjacent(all, mine->in, mine->from, weights, mine->out, mine->to, weights, MPI_INFO_NULL, 0,
                                  &graph);
  free(weights);
  return graph;
}

/* Parts that can use one communicator do, as the calls of most programs. */
static MPI_Comm find_communicator(const struct piece* piece) {
  enum { MOST = 4096 };
  static struct {
    const struct piece* piece;
    MPI_Comm comm;
  } made[MOST];
  static int count;
  for (int i = 0; i < count; ++i)
    if (have_one_communicator(made[i].piece, piece)) return made[i].comm;
  if (count == MOST) fail("more communicators than can be played", "");
  made[count].piece = piece;
  made[count].comm = make_communicator(piece);
  return made[count++].comm;
}

/* An MPI before version 4 has no persistent collectives: then they are played as nonblocking ones. */
static void set_form(struct part* part) {
  const char* form = part->piece->form;
  part->form = strcmp(form, "blocking") == 0 ? BLOCKING : strcmp(form, "persistent") == 0 ? PERSISTENT : NONBLOCKING;
  if (part->form == PERSISTENT && dlsym(RTLD_DEFAULT, "PMPI_Barrier_init") == NULL) part->form = NONBLOCKING;
  for (int library = NATIVE; part->form == PERSISTENT && library < LIBRARIES; ++library)
    part->forms[library]->init(part, part->piece->root, &part->persistent[library]);
}

void make_part(const struct piece* piece, struct part* part) {
  const struct operation* operation = find_operation(piece->operation);
  part->piece = piece;
  part->ranks = piece->size;
  part->comm = find_communicator(piece);
  part->me = place_in(piece);
  if (part->me < 0) return;
  set_type(operation, part);
  const struct neighbors* const mine = &piece->neighbors[part->me];
  if (is_neighborly(piece))
    make_blocks(part, mine->in, mine->from, mine->out);
  else
    make_blocks(part, part->ranks, NULL, part->ranks);
  for (int library = NATIVE; library < LIBRARIES; ++library) part->forms[library] = operation->forms[library];
  set_form(part);
}

static void compute_until(double moment) {
  while (now_us() < moment)
    ;
}

static void finish(struct part* part, int library, MPI_Request* request) {
  const double moment = now_us() + part->piece->between_us;
  compute_until(moment);
  library == NATIVE ? PMPI_Wait(request, MPI_STATUS_IGNORE) : MPI_Wait(request, MPI_STATUS_IGNORE);
}

double play_part(struct part* part, int library, int root) {
  const double begin = now_us();
  if (part->form == BLOCKING) {
    part->forms[library]->run(part, root);
    return now_us() - begin;
  }
  MPI_Request request = part->persistent[library];
  if (part->form == NONBLOCKING)
    part->forms[library]->start(part, root, &request);
  else
    library == NATIVE ? PMPI_Start(&request) : MPI_Start(&request);
  finish(part, library, &request);
  return now_us() - begin - part->piece->between_us;
}

void release_part(struct part* part) {
  if (part->me < 0) return;
  if (part->form == PERSISTENT) {
    PMPI_Request_free(&part->persistent[NATIVE]);
    MPI_Request_free(&part->persistent[ESPALIER]);
  }
  free(part->in), free(part->out);
  free(part->counts), free(part->offsets), free(part->own), free(part->own_offsets);
  free(part->types), free(part->places), free(part->own_places);
}
