#include "operations.h"

#include <stdlib.h>
#include <string.h>

/* ---- the calls ------------------------------------------------------------------------------------------------------
 * CALL(name, Function, arguments…) makes native_name and preloaded_name: the same call of PMPI_Function and of
 * MPI_Function, and their nonblocking and persistent forms. */

#define ONE_CALL(title, ...)                                              \
  static void title(const struct problem* p, const void* in, void* out) { \
    (void)p, (void)in, (void)out;                                         \
    __VA_ARGS__;                                                          \
  }
#define ONE_REQUEST(title, ...)                                                                 \
  static void title(const struct problem* p, const void* in, void* out, MPI_Request* request) { \
    (void)p, (void)in, (void)out;                                                               \
    __VA_ARGS__;                                                                                \
  }
#define FORMS(title, P, name, Function, ...)                       \
  ONE_CALL(title, P##MPI_##Function(__VA_ARGS__))                  \
  ONE_REQUEST(title##_start, P##MPI_I##name(__VA_ARGS__, request)) \
  ONE_REQUEST(title##_init, P##MPI_##Function##_init(__VA_ARGS__, MPI_INFO_NULL, request))
#define CALL(name, Function, ...)                      \
  FORMS(native_##name, P, name, Function, __VA_ARGS__) \
  FORMS(preloaded_##name, , name, Function, __VA_ARGS__)

CALL(bcast, Bcast, out, p->count, p->type, 0, p->comm)
CALL(scatter, Scatter, in, p->count, p->type, out, p->count, p->type, 0, p->comm)
CALL(gather, Gather, in, p->count, p->type, out, p->count, p->type, 0, p->comm)
CALL(allgather, Allgather, in, p->count, p->type, out, p->count, p->type, p->comm)
CALL(alltoall, Alltoall, in, p->count, p->type, out, p->count, p->type, p->comm)
CALL(scatterv, Scatterv, in, p->counts, p->offsets, p->type, out, p->counts[p->rank], p->type, 0, p->comm)
CALL(gatherv, Gatherv, in, p->counts[p->rank], p->type, out, p->counts, p->offsets, p->type, 0, p->comm)
CALL(allgatherv, Allgatherv, in, p->counts[p->rank], p->type, out, p->counts, p->offsets, p->type, p->comm)
CALL(alltoallv, Alltoallv, in, p->send_counts, p->send_offsets, p->type, out, p->receive_counts, p->receive_offsets,
     p->type, p->comm)
CALL(reduce, Reduce, in, out, p->count, p->type, MPI_SUM, 0, p->comm)
CALL(allreduce, Allreduce, in, out, p->count, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter, Reduce_scatter, in, out, p->counts, p->type, MPI_SUM, p->comm)
CALL(reduce_scatter_block, Reduce_scatter_block, in, out, p->count, p->type, MPI_SUM, p->comm)
CALL(scan, Scan, in, out, p->count, p->type, MPI_SUM, p->comm)
CALL(exscan, Exscan, in, out, p->count, p->type, MPI_SUM, p->comm)
CALL(barrier, Barrier, p->comm)
CALL(neighbor_allgather, Neighbor_allgather, in, p->count, p->type, out, p->count, p->type, p->comm)
CALL(neighbor_allgatherv, Neighbor_allgatherv, in, p->counts[p->rank], p->type, out, p->receive_counts,
     p->receive_offsets, p->type, p->comm)
CALL(neighbor_alltoall, Neighbor_alltoall, in, p->count, p->type, out, p->count, p->type, p->comm)
CALL(neighbor_alltoallv, Neighbor_alltoallv, in, p->send_counts, p->send_offsets, p->type, out, p->receive_counts,
     p->receive_offsets, p->type, p->comm)

/* The binomial tree of sends and receives that Wu, Kendall and Aluru compare a group operation with (figure 1). */
static void native_bcast_by_stages(const struct problem* p, const void* in, void* out) {
  int distance = 1;
  (void)in;
  while (distance < p->ranks && (p->rank & distance) == 0) distance <<= 1;
  if (p->rank != 0) PMPI_Recv(out, p->count, p->type, p->rank - distance, 0, p->comm, MPI_STATUS_IGNORE);
  while ((distance >>= 1) > 0)
    if (p->rank + distance < p->ranks) PMPI_Send(out, p->count, p->type, p->rank + distance, 0, p->comm);
}

/* Scatter, then allgather, among all ranks (van de Geijn; their figure 7). */
static void native_bcast_two_stage(const struct problem* p, const void* in, void* out) {
  char* share = (char*)out + p->share_offsets[p->rank];
  (void)in;
  PMPI_Scatterv(out, p->shares, p->share_offsets, p->type, p->rank == 0 ? MPI_IN_PLACE : share, p->shares[p->rank],
                p->type, 0, p->comm);
  PMPI_Allgatherv(MPI_IN_PLACE, 0, p->type, out, p->shares, p->share_offsets, p->type, p->comm);
}

/* ---- the data -------------------------------------------------------------------------------------------------------
 * Element i of rank r's input. Bytes take it as it is; summed up over some thousand ranks it is exact in every type. */

static long value(int rank, long i) { return (i * 7 + rank * 13L + i / 61) % 61; }

static int element_bytes; /* of reductions */
static MPI_Datatype reduction_type;
static enum { DOUBLE, INT, FLOAT } representation;

static void store(char* at, long i, long number) {
  if (representation == DOUBLE) ((double*)at)[i] = (double)number;
  if (representation == INT) ((int*)at)[i] = (int)number;
  if (representation == FLOAT) ((float*)at)[i] = (float)number;
}

static long load(const char* at, long i) {
  if (representation == DOUBLE) return (long)((const double*)at)[i];
  return representation == INT ? ((const int*)at)[i] : (long)((const float*)at)[i];
}

/* Whether `count` bytes at `at` differ from those at `offset` of `from`'s input. */
static int moved_wrong(const char* at, int from, long offset, long count) {
  for (long i = 0; i < count; ++i)
    if (at[i] != (char)value(from, offset + i)) return 1;
  return 0;
}

/* Whether `count` elements at `at` differ from the sums over the ranks before `ranks` at `offset` of their inputs. */
static int summed_wrong(const char* at, int ranks, long offset, long count) {
  for (long i = 0; i < count; ++i) {
    long sum = 0;
    for (int r = 0; r < ranks; ++r) sum += value(r, offset + i);
    if (load(at, i) != sum) return 1;
  }
  return 0;
}

static int bcast_wrong(const struct problem* p, const char* out) { return moved_wrong(out, 0, 0, p->count); }

static int scatter_wrong(const struct problem* p, const char* out) {
  return moved_wrong(out, 0, (long)p->rank * p->count, p->count);
}

static int scatterv_wrong(const struct problem* p, const char* out) {
  return moved_wrong(out, 0, p->offsets[p->rank], p->counts[p->rank]);
}

static int allgather_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int r = 0; r < p->ranks; ++r) wrong |= moved_wrong(out + (long)r * p->count, r, 0, p->count);
  return wrong;
}

static int allgatherv_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int r = 0; r < p->ranks; ++r) wrong |= moved_wrong(out + p->offsets[r], r, 0, p->counts[r]);
  return wrong;
}

static int alltoall_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int r = 0; r < p->ranks; ++r)
    wrong |= moved_wrong(out + (long)r * p->count, r, (long)p->rank * p->count, p->count);
  return wrong;
}

static int pair_offset(const struct problem* p, int from, int to);

static int alltoallv_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int r = 0; r < p->ranks; ++r)
    wrong |= moved_wrong(out + p->receive_offsets[r], r, pair_offset(p, r, p->rank), p->receive_counts[r]);
  return wrong;
}

static int allreduce_wrong(const struct problem* p, const char* out) {
  return summed_wrong(out, p->ranks, 0, p->count);
}

static int reduce_scatter_wrong(const struct problem* p, const char* out) {
  return summed_wrong(out, p->ranks, p->offsets[p->rank], p->counts[p->rank]);
}

static int reduce_scatter_block_wrong(const struct problem* p, const char* out) {
  return summed_wrong(out, p->ranks, (long)p->rank * p->count, p->count);
}

static int scan_wrong(const struct problem* p, const char* out) { return summed_wrong(out, p->rank + 1, 0, p->count); }

static int exscan_wrong(const struct problem* p, const char* out) { return summed_wrong(out, p->rank, 0, p->count); }

static int neighbor_allgather_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int edge = 0; edge < p->graph->sources; ++edge)
    if (p->graph->source[edge] != MPI_PROC_NULL)
      wrong |= moved_wrong(out + (long)edge * p->count, p->graph->source[edge], 0, p->count);
  return wrong;
}

static int neighbor_allgatherv_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int edge = 0; edge < p->graph->sources; ++edge)
    wrong |= moved_wrong(out + p->receive_offsets[edge], p->graph->source[edge], 0, p->receive_counts[edge]);
  return wrong;
}

/* Where in a rank's values those begin that go along its edge to that one. */
static long edge_offset(const struct problem* p, int to) { return (long)to * p->count; }

static int neighbor_alltoall_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int edge = 0; edge < p->graph->sources; ++edge)
    if (p->graph->source[edge] != MPI_PROC_NULL)
      wrong |= moved_wrong(out + (long)edge * p->count, p->graph->source[edge], edge_offset(p, p->rank), p->count);
  return wrong;
}

static int neighbor_alltoallv_wrong(const struct problem* p, const char* out) {
  int wrong = 0;
  for (int edge = 0; edge < p->graph->sources; ++edge)
    wrong |= moved_wrong(out + p->receive_offsets[edge], p->graph->source[edge], edge_offset(p, p->rank),
                         p->receive_counts[edge]);
  return wrong;
}

/* ---- the table ------------------------------------------------------------------------------------------------------
 */

enum { MOVES, REDUCES };

/* A rank's own block of a v-form may be one and a half: it gets the room of all. */
#define ALL_FORMS(title) \
  { title, title##_start, title##_init }
#define ENTRY(name, described, in, out, who, reduces, wrong) \
  { #name, described, in, out, who, reduces, 0, ALL_FORMS(native_##name), ALL_FORMS(preloaded_##name), wrong }
#define BASELINE(name)                                                        \
  {                                                                           \
#name, "broadcast", NOTHING, ONE_BLOCK, EVERYBODY, MOVES, 1,              \
        {native_##name, NULL, NULL }, ALL_FORMS(preloaded_bcast), bcast_wrong \
  }

const struct operation operations[] = {
    ENTRY(bcast, "broadcast", NOTHING, ONE_BLOCK, EVERYBODY, MOVES, bcast_wrong),
    ENTRY(scatter, "scatter", ALL_BLOCKS, ONE_BLOCK, EVERYBODY, MOVES, scatter_wrong),
    ENTRY(scatterv, "scatterv", ALL_BLOCKS, ALL_BLOCKS, EVERYBODY, MOVES, scatterv_wrong),
    ENTRY(gather, "gather", ONE_BLOCK, ALL_BLOCKS, ROOT, MOVES, allgather_wrong),
    ENTRY(gatherv, "gatherv", ALL_BLOCKS, ALL_BLOCKS, ROOT, MOVES, allgatherv_wrong),
    ENTRY(allgather, "allgather", ONE_BLOCK, ALL_BLOCKS, EVERYBODY, MOVES, allgather_wrong),
    ENTRY(allgatherv, "allgatherv", ALL_BLOCKS, ALL_BLOCKS, EVERYBODY, MOVES, allgatherv_wrong),
    ENTRY(alltoall, "alltoall", ALL_BLOCKS, ALL_BLOCKS, EVERYBODY, MOVES, alltoall_wrong),
    ENTRY(alltoallv, "alltoallv", ALL_BLOCKS, ALL_BLOCKS, EVERYBODY, MOVES, alltoallv_wrong),
    ENTRY(reduce, "reduce", ONE_BLOCK, ONE_BLOCK, ROOT, REDUCES, allreduce_wrong),
    ENTRY(allreduce, "allreduce", ONE_BLOCK, ONE_BLOCK, EVERYBODY, REDUCES, allreduce_wrong),
    ENTRY(reduce_scatter, "reduce_scatterv", ALL_BLOCKS, ALL_BLOCKS, EVERYBODY, REDUCES, reduce_scatter_wrong),
    ENTRY(reduce_scatter_block, "reduce_scatter", ALL_BLOCKS, ONE_BLOCK, EVERYBODY, REDUCES,
          reduce_scatter_block_wrong),
    ENTRY(scan, "scan", ONE_BLOCK, ONE_BLOCK, EVERYBODY, REDUCES, scan_wrong),
    ENTRY(exscan, "exscan", ONE_BLOCK, ONE_BLOCK, NOT_THE_FIRST, REDUCES, exscan_wrong),
    ENTRY(barrier, "barrier", NOTHING, NOTHING, NOBODY, MOVES, NULL),
    ENTRY(neighbor_allgather, "neighbor_allgather", ONE_BLOCK, RECEIVED_BLOCKS, EVERYBODY, MOVES,
          neighbor_allgather_wrong),
    ENTRY(neighbor_allgatherv, "neighbor_allgatherv", ALL_BLOCKS, RECEIVED_BLOCKS, EVERYBODY, MOVES,
          neighbor_allgatherv_wrong),
    ENTRY(neighbor_alltoall, "neighbor_alltoall", SENT_BLOCKS, RECEIVED_BLOCKS, EVERYBODY, MOVES,
          neighbor_alltoall_wrong),
    ENTRY(neighbor_alltoallv, "neighbor_alltoallv", SENT_BLOCKS, RECEIVED_BLOCKS, EVERYBODY, MOVES,
          neighbor_alltoallv_wrong),
    BASELINE(bcast_by_stages),
    BASELINE(bcast_two_stage),
    {NULL, NULL, NOTHING, NOTHING, NOBODY, MOVES, 0, {NULL, NULL, NULL}, {NULL, NULL, NULL}, NULL},
};

const struct operation* find_operation(const char* name) {
  for (const struct operation* it = operations; it->name != NULL; ++it)
    if (strcmp(name, it->name) == 0) return it;
  return NULL;
}

int goes_along_edges(const struct operation* operation) { return operation->out == RECEIVED_BLOCKS; }

int learns_sizes(const struct operation* operation) {
  return strcmp(operation->name, "scatterv") == 0 || strcmp(operation->name, "gatherv") == 0 ||
         strcmp(operation->name, "alltoallv") == 0;
}

/* ---- problems -------------------------------------------------------------------------------------------------------
 */

static struct graph graph; /* without ranks before set_graph() */

int set_graph(const char* name, MPI_Comm comm) { return make_graph(name, comm, &graph); }

int set_reduction_type(const char* name) {
  static const char* const names[] = {"double", "int", "float"};
  static const int sizes[] = {sizeof(double), sizeof(int), sizeof(float)};
  /* Handles of some MPIs are no constants. */
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_FLOAT};
  for (int i = DOUBLE; i <= FLOAT; ++i) {
    if (strcmp(name, names[i]) != 0) continue;
    representation = i;
    element_bytes = sizes[i];
    reduction_type = types[i];
    return 1;
  }
  return 0;
}

static int element_of(const struct operation* operation) { return operation->is_reduction ? element_bytes : 1; }

long whole_elements(const struct operation* operation, long bytes) {
  int element = element_of(operation);
  return (bytes + element - 1) / element * element;
}

/* The k-th of `ranks` uneven blocks: halves and one-and-a-halves in turn; a last one without a partner is whole. */
static int uneven_count(const struct problem* p, int k) {
  if (k % 2 == 1) return p->count + (p->count + 1) / 2;
  return k + 1 < p->ranks ? p->count / 2 : p->count;
}

/* From rank to rank the blocks of alltoallv are turned by one, so that all ranks send and receive the same amount. */
static int pair_count(const struct problem* p, int from, int to) {
  return uneven_count(p, (to - from + p->ranks) % p->ranks);
}

static int pair_offset(const struct problem* p, int from, int to) {
  int offset = 0;
  for (int r = 0; r < to; ++r) offset += pair_count(p, from, r);
  return offset;
}

static void fill_layouts(struct problem* p) {
  int offset = 0, received = 0;
  for (int r = 0; r < p->ranks; ++r) {
    p->counts[r] = uneven_count(p, r);
    p->offsets[r] = offset;
    p->send_counts[r] = pair_count(p, p->rank, r);
    p->send_offsets[r] = pair_offset(p, p->rank, r);
    p->receive_counts[r] = pair_count(p, r, p->rank);
    p->receive_offsets[r] = received;
    p->share_offsets[r] = (int)((long)p->count * r / p->ranks);
    p->shares[r] = (int)((long)p->count * (r + 1) / p->ranks) - p->share_offsets[r];
    offset += p->counts[r];
    received += p->receive_counts[r];
  }
}

/* Those of the edges, in their place. Of nobody's: nothing. */
static void fill_edges(struct problem* p) {
  const int is_one_block = p->operation->in != SENT_BLOCKS;
  int sent = 0, received = 0;
  for (int edge = 0; edge < p->graph->destinations; sent += p->send_counts[edge++]) {
    const int to = p->graph->destination[edge];
    p->send_offsets[edge] = sent;
    p->send_counts[edge] = to == MPI_PROC_NULL ? 0 : pair_count(p, p->rank, to);
  }
  for (int edge = 0; edge < p->graph->sources; received += p->receive_counts[edge++]) {
    const int from = p->graph->source[edge];
    const int count = is_one_block ? uneven_count(p, from) : pair_count(p, from, p->rank);
    p->receive_offsets[edge] = received;
    p->receive_counts[edge] = from == MPI_PROC_NULL ? 0 : count;
  }
}

static int larger(int one, int other) { return one > other ? one : other; }

int make_problem(const struct operation* operation, long bytes, MPI_Comm comm, struct problem* p) {
  enum { ARRAYS = 8 };
  p->operation = operation;
  p->graph = goes_along_edges(operation) ? &graph : NULL;
  p->comm = p->graph != NULL ? graph.comm : comm;
  p->bytes = bytes;
  p->count = (int)(bytes / element_of(operation));
  p->type = operation->is_reduction ? reduction_type : MPI_BYTE;
  PMPI_Comm_rank(p->comm, &p->rank);
  PMPI_Comm_size(p->comm, &p->ranks);
  const int room = p->graph == NULL ? p->ranks : larger(p->ranks, larger(graph.sources, graph.destinations));
  int** arrays[ARRAYS] = {&p->counts,         &p->offsets,         &p->send_counts, &p->send_offsets,
                          &p->receive_counts, &p->receive_offsets, &p->shares,      &p->share_offsets};
  int* memory = malloc(sizeof(int) * ARRAYS * (size_t)room);
  if (memory == NULL) return 0;
  for (int i = 0; i < ARRAYS; ++i) *arrays[i] = memory + (long)i * room;
  fill_layouts(p);
  if (p->graph != NULL) fill_edges(p);
  return 1;
}

int has_result(const struct problem* p) {
  const enum holder who = p->operation->result_at;
  return who == EVERYBODY || (who == ROOT && p->rank == 0) || (who == NOT_THE_FIRST && p->rank > 0);
}

int is_wrong(const struct problem* p, const char* out) { return has_result(p) && p->operation->is_wrong(p, out); }

void release_problem(struct problem* p) { free(p->counts); /* the first of all arrays */ }

/* A block of a v-form along an edge may be one and a half. */
long extent_bytes(const struct problem* p, enum extent extent) {
  switch (extent) {
    case NOTHING: return 0;
    case ONE_BLOCK: return p->bytes;
    case ALL_BLOCKS: return p->bytes * p->ranks;
    case SENT_BLOCKS: return 2 * p->bytes * p->graph->destinations;
    case RECEIVED_BLOCKS: return 2 * p->bytes * p->graph->sources;
  }
  return 0;
}

/* What goes along each edge, where the call at hand has it. */
static void fill_sent_blocks(const struct problem* p, char* in) {
  const int is_uneven = strcmp(p->operation->name, "neighbor_alltoallv") == 0;
  for (int edge = 0; edge < p->graph->destinations; ++edge) {
    const int to = p->graph->destination[edge];
    const long begin = is_uneven ? p->send_offsets[edge] : (long)edge * p->count;
    const long count = to == MPI_PROC_NULL ? 0 : is_uneven ? p->send_counts[edge] : p->count;
    for (long i = 0; i < count; ++i) in[begin + i] = (char)value(p->rank, edge_offset(p, to) + i);
  }
}

void fill_input(const struct problem* p, char* in) {
  if (p->operation->in == SENT_BLOCKS) return fill_sent_blocks(p, in);
  long count = extent_bytes(p, p->operation->in) / element_of(p->operation);
  for (long i = 0; i < count; ++i)
    if (p->operation->is_reduction)
      store(in, i, value(p->rank, i));
    else
      in[i] = (char)value(p->rank, i);
}

void reset_output(const struct problem* p, char* out) {
  memset(out, 0xEE, (size_t)extent_bytes(p, p->operation->out));
  for (long i = 0; p->operation->in == NOTHING && p->rank == 0 && i < p->count; ++i) out[i] = (char)value(0, i);
}
