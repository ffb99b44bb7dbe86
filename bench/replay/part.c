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
CALL(reduce, Reduce, p->in, p->out, p->count, p->type, MPI_SUM, root, p->comm)
CALL(allreduce, Allreduce, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter, Reduce_scatter, p->in, p->out, p->counts, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter_block, Reduce_scatter_block, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(scan, Scan, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(exscan, Exscan, p->in, p->out, p->count, p->type, MPI_SUM, p->comm)
CALL(barrier, Barrier, p->comm)

static const struct operation {
  const char* name;
  int is_reduction;
  const struct forms* forms[LIBRARIES];
} operations[] = {
#define ENTRY(name, is_reduction) {#name, is_reduction, {&native_##name, &preloaded_##name}},
    ENTRY(bcast, 0) ENTRY(scatter, 0) ENTRY(gather, 0) ENTRY(allgather, 0) ENTRY(alltoall, 0) ENTRY(scatterv, 0)
        ENTRY(gatherv, 0) ENTRY(allgatherv, 0) ENTRY(alltoallv, 0) ENTRY(reduce, 1) ENTRY(allreduce, 1)
            ENTRY(reduce_scatter, 1) ENTRY(reduce_scatter_block, 1) ENTRY(scan, 1) ENTRY(exscan, 1) ENTRY(barrier, 0)
#undef ENTRY
};

static const struct operation* find_operation(const char* name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
    if (strcmp(operations[i].name, name) == 0) return &operations[i];
  fail("no such operation: ", name);
}

/* ---- parts ----------------------------------------------------------------------------------------------------------
 */

static void set_type(const struct operation* operation, struct part* part) {
  int element = 8;
  for (int i = 0; i < part->ranks; ++i)
    if (part->piece->blocks[i] % 8 != 0) element = 4;
  part->type = !operation->is_reduction ? MPI_BYTE : element == 8 ? MPI_DOUBLE : MPI_FLOAT;
  if (!operation->is_reduction) element = 1;
  for (int i = 0; i < part->ranks; ++i) part->counts[i] = part->piece->blocks[i] / element;
  part->count = part->counts[part->me];
}

/* Room for all blocks, and for as many of this rank's. */
static void make_buffers(struct part* part) {
  size_t bytes = 0, own = (size_t)part->piece->blocks[part->me] * (size_t)part->ranks;
  int offset = 0;
  for (int i = 0; i < part->ranks; ++i) {
    part->offsets[i] = offset;
    part->own[i] = part->count;
    part->own_offsets[i] = i * part->count;
    offset += part->counts[i];
    bytes += (size_t)part->piece->blocks[i];
  }
  if (own > bytes) bytes = own;
  part->in = allocate(bytes);
  part->out = allocate(bytes);
  memset(part->in, 0, bytes);
  memset(part->out, 0, bytes);
}

/* Parts of the same ranks use one communicator, as the calls of most programs do. */
static MPI_Comm find_communicator(const struct piece* piece) {
  enum { MOST = 4096 };
  static struct {
    const struct piece* piece;
    MPI_Comm comm;
  } made[MOST];
  static int count;
  for (int i = 0; i < count; ++i)
    if (made[i].piece->size == piece->size &&
        memcmp(made[i].piece->members, piece->members, (size_t)piece->size * sizeof(int)) == 0)
      return made[i].comm;
  if (count == MOST) fail("more communicators than can be played", "");
  const int place = place_in(piece);
  made[count].piece = piece;
  PMPI_Comm_split(MPI_COMM_WORLD, place < 0 ? MPI_UNDEFINED : 0, place, &made[count].comm);
  return made[count++].comm;
}

static int* allocate_ints(int count) { return allocate((size_t)count * sizeof(int)); }

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
  part->counts = allocate_ints(part->ranks);
  part->offsets = allocate_ints(part->ranks);
  part->own = allocate_ints(part->ranks);
  part->own_offsets = allocate_ints(part->ranks);
  set_type(operation, part);
  make_buffers(part);
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
}
