/* Calls that do not fit together, for tests of ESPALIER_CHECK:
 *
 *     misfit HOW RANK [FORM [kept]]
 *
 * All make one call, with blocks of rank + 1 integers where it has counts, and RANK makes it with one integer too many
 * (gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter, size, and along the edges of a ring
 * ring_allgather, ring_alltoall, ring_alltoallv), along an edge that the other end does not have (graph), with MPI_MAX
 * in place of MPI_SUM (op), another root (root), as another operation (barrier), or with another type (slice: every
 * other float, where the others have as many integers; counted: floats in a gatherv). "form": RANK makes a blocking
 * call where the others make one of FORM, which is blocking, nonblocking or persistent and else all ranks'. "each": all
 * of these, one after the other. "fine": nobody does anything wrong, in all of these calls, and data are told by types
 * of various kinds that are all of integers. Rank 0 prints "through" in the end.
 *
 * "kept": errors are returned, and rank 0 prints for each call how many ranks got one, of which class its own is, and
 * whether data have moved; the communicators go on.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static int rank, size, is_wrong;
static enum { BLOCKING, NONBLOCKING, PERSISTENT } form;
static int in[MOST * MOST], out[MOST * MOST], counts[MOST], places[MOST], ones[MOST], bytes[MOST], byte_places[MOST];
static MPI_Datatype ints[MOST];
static MPI_Request request;
static MPI_Comm ring;

static int wait_for(int code) { return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code; }

/* Twice. */
static int start(int code) {
  for (int turn = 0; turn < 2 && code == MPI_SUCCESS; ++turn) code = wait_for(MPI_Start(&request));
  if (code == MPI_SUCCESS) MPI_Request_free(&request);
  return code;
}

/* MPI_Function, MPI_Iname or MPI_Function_init, to its end. */
#define CALL(Function, name, ...)                                       \
  (form == BLOCKING      ? MPI_##Function(__VA_ARGS__)                  \
   : form == NONBLOCKING ? wait_for(MPI_I##name(__VA_ARGS__, &request)) \
                         : start(MPI_##Function##_init(__VA_ARGS__, MPI_INFO_NULL, &request)))

static void lay_out(void) {
  for (int r = 0, place = 0; r < size; place += ++r) {
    counts[r] = r + 1;
    places[r] = place;
    ones[r] = rank + 1;
    bytes[r] = (rank + 1) * r;
    byte_places[r] = place * (int)sizeof(int);
    ints[r] = MPI_INT;
  }
}

static int blocks(const char* how) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int mine = rank + 1 + is_wrong;
  if (!strcmp(how, "gatherv")) return CALL(Gatherv, gatherv, in, mine, MPI_INT, out, counts, places, MPI_INT, 0, world);
  if (!strcmp(how, "counted"))
    return CALL(Gatherv, gatherv, in, rank + 1, is_wrong ? MPI_FLOAT : MPI_INT, out, counts, places, MPI_INT, 0, world);
  if (!strcmp(how, "scatterv"))
    return CALL(Scatterv, scatterv, in, counts, places, MPI_INT, out, mine, MPI_INT, 0, world);
  if (!strcmp(how, "allgatherv"))
    return CALL(Allgatherv, allgatherv, in, mine, MPI_INT, out, counts, places, MPI_INT, world);
  if (is_wrong) counts[0] += 1;
  if (!strcmp(how, "alltoallv"))
    return CALL(Alltoallv, alltoallv, in, ones, bytes, MPI_INT, out, counts, places, MPI_INT, world);
  for (int r = 0; r < size; ++r) bytes[r] *= (int)sizeof(int);
  if (!strcmp(how, "alltoallw"))
    return CALL(Alltoallw, alltoallw, in, ones, bytes, ints, out, counts, byte_places, ints, world);
  return CALL(Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT, MPI_SUM, world);
}

/* Four elements, every other of eight. */
static int broadcast_slice(MPI_Datatype of) {
  MPI_Datatype slice;
  MPI_Type_vector(2, 2, 4, of, &slice);
  MPI_Type_commit(&slice);
  const int code = CALL(Bcast, bcast, in, 1, slice, 0, MPI_COMM_WORLD);
  MPI_Type_free(&slice);
  return code;
}

static int broadcast_integers(void) {
  if (rank % 2 == 0) return CALL(Bcast, bcast, in, 4, MPI_INT, 0, MPI_COMM_WORLD);
  return broadcast_slice(MPI_INT);
}

/* A rank's block for those below and above it are two integers long; RANK sends three. */
static int send_around(const char* how) {
  static int two[2] = {2, 2}, beside[2] = {0, 4}, sends[2];
  const int mine = 2 + is_wrong;
  sends[0] = sends[1] = mine;
  if (!strcmp(how, "ring_allgather"))
    return CALL(Neighbor_allgather, neighbor_allgather, in, mine, MPI_INT, out, 2, MPI_INT, ring);
  if (!strcmp(how, "ring_alltoall"))
    return CALL(Neighbor_alltoall, neighbor_alltoall, in, mine, MPI_INT, out, 2, MPI_INT, ring);
  return CALL(Neighbor_alltoallv, neighbor_alltoallv, in, sends, beside, MPI_INT, out, two, beside, MPI_INT, ring);
}

/* Around, and from RANK also to the one behind the next, which does not know of it. */
static int send_where_nobody_listens(void) {
  const int sources[1] = {(rank + size - 1) % size}, destinations[2] = {(rank + 1) % size, (rank + 2) % size};
  const int weights[2] = {1, 1};
  MPI_Comm graph;
  MPI_Errhandler handler;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1 + is_wrong, destinations, weights,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Comm_get_errhandler(ring, &handler);
  MPI_Comm_set_errhandler(graph, handler);
  MPI_Errhandler_free(&handler);
  const int code = CALL(Neighbor_alltoall, neighbor_alltoall, in, 2, MPI_INT, out, 2, MPI_INT, graph);
  MPI_Comm_free(&graph);
  return code;
}

static int make_call(const char* how) {
  const MPI_Comm world = MPI_COMM_WORLD;
  lay_out();
  if (!strcmp(how, "form"))
    return is_wrong ? MPI_Bcast(in, 4, MPI_INT, 0, world) : CALL(Bcast, bcast, in, 4, MPI_INT, 0, world);
  if (!strcmp(how, "root")) return CALL(Bcast, bcast, in, 4, MPI_INT, is_wrong, world);
  if (!strcmp(how, "size")) return CALL(Bcast, bcast, in, 4 + is_wrong, MPI_INT, 0, world);
  if (!strcmp(how, "barrier") && is_wrong) return CALL(Barrier, barrier, world);
  if (!strcmp(how, "barrier")) return CALL(Bcast, bcast, in, 4, MPI_INT, 0, world);
  if (!strcmp(how, "op")) return CALL(Allreduce, allreduce, in, out, 2, MPI_INT, is_wrong ? MPI_MAX : MPI_SUM, world);
  if (!strcmp(how, "slice")) return is_wrong ? broadcast_slice(MPI_FLOAT) : broadcast_integers();
  if (!strcmp(how, "graph")) return send_where_nobody_listens();
  return !strncmp(how, "ring", 4) ? send_around(how) : blocks(how);
}

static const char* name_class(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class == MPI_SUCCESS        ? "none"
         : class == MPI_ERR_ROOT     ? "root"
         : class == MPI_ERR_COUNT    ? "count"
         : class == MPI_ERR_TYPE     ? "type"
         : class == MPI_ERR_OP       ? "op"
         : class == MPI_ERR_TRUNCATE ? "truncate"
                                     : "other";
}

static void fill_buffers(void) {
  for (int i = 0; i < MOST * MOST; ++i) in[i] = out[i] = rank + i;
}

static int has_moved(void) {
  for (int i = 0; i < MOST * MOST; ++i)
    if (in[i] != rank + i || out[i] != rank + i) return 1;
  return 0;
}

/* How many ranks got an error, of which class rank 0's is, whether any rank's buffers have changed, and, where what
 * comes then is wrong, that. */
static void tell(int code) {
  int told[2] = {code != MPI_SUCCESS, has_moved()}, sum[2] = {0, 0};
  MPI_Allreduce(told, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("told %d %s%s\n", sum[0], name_class(code), sum[1] ? ", and data have moved" : "");
}

static void make_ring(void) {
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
}

int main(int argc, char** argv) {
  static const char* const all[] = {"form",           "root",      "size",           "barrier",        "op",
                                    "slice",          "gatherv",   "counted",        "scatterv",       "allgatherv",
                                    "alltoallv",      "alltoallw", "reduce_scatter", "ring_allgather", "ring_alltoall",
                                    "ring_alltoallv", "graph"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size > MOST) return 2;
  make_ring();
  is_wrong = strcmp(argv[1], "fine") != 0 && rank == atoi(argv[2]);
  if (argc > 3) form = !strcmp(argv[3], "nonblocking") ? NONBLOCKING : !strcmp(argv[3], "persistent") ? PERSISTENT : 0;
  for (int is_ring = 0; argc > 4 && is_ring < 2; ++is_ring)
    MPI_Comm_set_errhandler(is_ring ? ring : MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    if (!strcmp(argv[1], "fine") || !strcmp(argv[1], "each") || !strcmp(argv[1], all[i])) {
      fill_buffers();
      const int code = make_call(all[i]);
      if (argc > 4) tell(code);
    }
  if (rank == 0) printf("through\n");
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
