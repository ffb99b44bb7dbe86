/* Neighbourhood collectives, native and with Espalier in one job, in turns.
 *
 *   mpiexec -n 16 env LD_PRELOAD=libespalier-<abi>.so bench_neighbors_<abi> [ROUNDS]
 *
 * On a periodic grid of two dimensions (a stencil of 5 points), one of three with its diagonals (27 points) and random
 * graphs. One line for each graph, call and size of a block: medians over the rounds of the time per call in
 * microseconds, the slowest rank of each round counted, and native / ours with the quartiles of the rounds' ratios. The
 * PMPI names are native's. Sizes of the v-form are 0.5 and 1.5 times the block's in turn.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_rounds = 1000, most_bytes = 64 << 10, most_edges = 128 };

static char *in, *out;
static MPI_Comm comm;
static int ranks, rank;

/* The v-form's blocks: an edge is as long at both ends, by who they are. */
static int indegree, outdegree, sources[most_edges], destinations[most_edges];
static int send_counts[most_edges], send_at[most_edges], receive_counts[most_edges], receive_at[most_edges];

struct library {
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*alltoallv)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                   MPI_Comm);
  int (*ialltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
  int (*alltoall_init)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
  int (*start)(MPI_Request*);
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*free)(MPI_Request*);
};
#define LIBRARY(P)                                                                             \
  {                                                                                            \
    P##Neighbor_allgather, P##Neighbor_alltoall, P##Neighbor_alltoallv, P##Ineighbor_alltoall, \
        P##Neighbor_alltoall_init, P##Start, P##Wait, P##Request_free                          \
  }
static const struct library native_library = LIBRARY(PMPI_), our_library = LIBRARY(MPI_);

enum call { allgather, alltoall, alltoallv, ialltoall, alltoall_init, calls };
static const char* const names[calls] = {"allgather", "alltoall", "alltoallv", "ialltoall", "alltoall_init"};

static void call_once(enum call which, const struct library* by, int bytes, MPI_Request* request) {
  switch (which) {
    case allgather: by->allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm); return;
    case alltoall: by->alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm); return;
    case alltoallv:
      by->alltoallv(in, send_counts, send_at, MPI_BYTE, out, receive_counts, receive_at, MPI_BYTE, comm);
      return;
    case ialltoall: by->ialltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm, request); break;
    case alltoall_init: by->start(request); break;
    case calls: return;
  }
  by->wait(request, MPI_STATUS_IGNORE);
}

/* Per call, on the slowest rank. Making a persistent request is not part of it. */
static double time_calls(enum call which, const struct library* by, int bytes, int count) {
  MPI_Request request;
  if (which == alltoall_init)
    by->alltoall_init(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm, MPI_INFO_NULL, &request);
  PMPI_Barrier(comm);
  double mine = 0, slowest = 0;
  const double from = MPI_Wtime();
  for (int i = 0; i < count; ++i) call_once(which, by, bytes, &request);
  mine = (MPI_Wtime() - from) / count * 1e6;
  if (which == alltoall_init) by->free(&request);
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return slowest;
}

static int by_value(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

static void list_counts(int bytes) {
  int at = 0;
  for (int i = 0; i < outdegree; at += send_counts[i++])
    send_at[i] = at, send_counts[i] = (rank + destinations[i]) % 2 ? bytes / 2 : bytes / 2 * 3;
  at = 0;
  for (int i = 0; i < indegree; at += receive_counts[i++])
    receive_at[i] = at, receive_counts[i] = (rank + sources[i]) % 2 ? bytes / 2 : bytes / 2 * 3;
}

static void measure(const char* graph, enum call which, int bytes, int rounds) {
  static double native[most_rounds], ours[most_rounds], ratios[most_rounds];
  const int count = bytes > 10000 ? 20 : 200;
  list_counts(bytes);
  for (int round = -2; round < rounds; ++round) {
    const int at = round < 0 ? 0 : round;
    native[at] = time_calls(which, &native_library, bytes, count);
    ours[at] = time_calls(which, &our_library, bytes, count);
    ratios[at] = native[at] / ours[at];
  }
  qsort(native, (size_t)rounds, sizeof *native, by_value);
  qsort(ours, (size_t)rounds, sizeof *ours, by_value);
  qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
  if (rank == 0)
    printf("%-10s %-14s %6d %11.2f %9.2f %7.2f %7.2f %7.2f\n", graph, names[which], bytes, native[rounds / 2],
           ours[rounds / 2], ratios[rounds / 2], ratios[rounds / 4], ratios[rounds * 3 / 4]);
  fflush(stdout);
}

static const int sizes[] = {4, 64, 1 << 10, 4 << 10, 16 << 10, most_bytes};

static void measure_all(const char* graph, int rounds) {
  for (int which = 0; which < calls; ++which)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) measure(graph, (enum call)which, sizes[i], rounds);
  MPI_Comm_free(&comm);
}

/* Makes `comm` out of the edges that are listed. */
static void make_graph(void) {
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, sources, outdegree, destinations, destinations,
                                 MPI_INFO_NULL, 0, &comm);
}

/* A block to each of the 26 around it. */
static void make_diagonals(void) {
  int extents[3] = {0, 0, 0}, me[3], left = rank;
  MPI_Dims_create(ranks, 3, extents);
  for (int d = 2; d >= 0; --d) me[d] = left % extents[d], left /= extents[d];
  indegree = outdegree = 0;
  for (int step = 0; step < 27; ++step) {
    if (step == 13) continue;
    const int by[3] = {step / 9 - 1, step / 3 % 3 - 1, step % 3 - 1};
    int to = 0, from = 0;
    for (int d = 0; d < 3; ++d) {
      to = to * extents[d] + (me[d] + by[d] + extents[d]) % extents[d];
      from = from * extents[d] + (me[d] - by[d] + extents[d]) % extents[d];
    }
    destinations[outdegree++] = to, sources[indegree++] = from;
  }
  make_graph();
}

/* About `degree` edges from each rank, the same drawn everywhere. */
static void make_random(int degree) {
  unsigned state = 1;
  indegree = outdegree = 0;
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < degree; ++i) {
      state = state * 1664525u + 1013904223u;
      const int to = (int)(state >> 8) % ranks;
      if (from == rank) destinations[outdegree++] = to;
      if (to == rank && indegree < most_edges) sources[indegree++] = from;
    }
  make_graph();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 11;
  if (rounds < 1 || rounds > most_rounds) {
    fprintf(stderr, "bench_neighbors: ROUNDS is between 1 and %d\n", most_rounds);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = calloc(2 * most_edges, most_bytes), out = calloc(2 * most_edges, most_bytes);
  if (rank == 0)
    printf("%-10s %-14s %6s %11s %9s %7s %15s\n", "graph", "call", "bytes", "native us", "ours us", "ratio",
           "quartiles");
  int extents[2] = {0, 0};
  const int periods[2] = {1, 1};
  MPI_Dims_create(ranks, 2, extents);
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &comm);
  indegree = outdegree = 4;
  for (int d = 0; d < 2; ++d) MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
  for (int i = 0; i < 4; ++i) destinations[i] = sources[i];
  measure_all("5-point", rounds);
  make_diagonals();
  measure_all("27-point", rounds);
  make_random(8);
  measure_all("random-8", rounds);
  free(in), free(out);
  MPI_Finalize();
  return 0;
}
