/* Random collectives with strange arguments, whose outcome is printed: what native makes of them, ours must, too.
 *
 *     strange SEED CALLS
 *
 * All ranks draw the same numbers. A call has a kind, a form (blocking, nonblocking, persistent), a count (often none),
 * a type (with gaps, out of order, that begins before its address, without bytes), MPI_IN_PLACE, a communicator among a
 * few that are made and freed on the way, and now and then a fault on all ranks that MPI forbids. Each rank prints for
 * each call the class of the error, or a hash of all memory that the call may have read and written. Reductions are of
 * small whole numbers, so that no order of operands shows. */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8, ROOM = 1 << 20, MARGIN = 4096, COMMS = 5, TYPES = 8, SECONDS = 60 };
enum kind {
  BCAST,
  SCATTER,
  GATHER,
  SCATTERV,
  GATHERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE,
  ALLREDUCE,
  REDUCE_SCATTER_BLOCK,
  REDUCE_SCATTER,
  SCAN,
  EXSCAN,
  BARRIER,
  KINDS
};
static const char* const names[] = {"bcast",
                                    "scatter",
                                    "gather",
                                    "scatterv",
                                    "gatherv",
                                    "allgather",
                                    "allgatherv",
                                    "alltoall",
                                    "alltoallv",
                                    "alltoallw",
                                    "reduce",
                                    "allreduce",
                                    "reduce_scatter_block",
                                    "reduce_scatter",
                                    "scan",
                                    "exscan",
                                    "barrier"};
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum fault { NONE, COUNT, TYPE, ROOT, OPERATION, FAULTS };

struct call {
  enum kind kind;
  enum form form;
  enum fault fault;
  int count, type, root, in_place, op;
  int counts[MOST], places[MOST];    /* of v-forms */
  int even[MOST], even_places[MOST]; /* of alltoallv: what goes one way comes the other */
  int bytes_places[MOST];            /* of alltoallw */
  MPI_Datatype types[MOST];
  MPI_Comm comm;
  int rank, ranks;
};

static uint64_t state;
static int world_rank, world_size;
static char at_hand[160];
static char *input, *output;
static MPI_Datatype types[TYPES];
static MPI_Comm comms[COMMS];

static int below(int bound) { /* xorshift64* (Vigna 2016) */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (int)((state * 2685821657736338717u >> 33) % (uint64_t)bound);
}

static void say_hang(int number) {
  (void)number;
  char line[200];
  const int length = snprintf(line, sizeof line, "rank %d: %s does not come back\n", world_rank, at_hand);
  if (write(1, line, (size_t)length)) _exit(1);
  _exit(1);
}

static void make_types(void) {
  MPI_Datatype scattered;
  const int lengths[] = {1, 2, 1};
  const MPI_Aint places[] = {16, 4, 28};
  const MPI_Datatype parts[] = {MPI_INT, MPI_SHORT, MPI_CHAR};
  types[0] = MPI_INT, types[1] = MPI_BYTE, types[2] = MPI_DOUBLE;
  MPI_Type_vector(3, 2, 4, MPI_INT, &types[3]);
  MPI_Type_create_resized(MPI_INT, -8, 24, &types[4]);
  MPI_Type_contiguous(0, MPI_INT, &types[5]);
  MPI_Type_create_struct(3, lengths, places, parts, &scattered);
  MPI_Type_create_resized(scattered, 0, 40, &types[6]);
  MPI_Type_free(&scattered);
  MPI_Type_contiguous(5, MPI_INT, &types[7]);
  for (int i = 3; i < TYPES; ++i) MPI_Type_commit(&types[i]);
}

static void make_comm(MPI_Comm* comm) {
  switch (below(4)) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, comm); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, comm); break;
    case 2: MPI_Comm_split(MPI_COMM_WORLD, world_rank % (1 + below(2)), world_rank, comm); break;
    default: MPI_Comm_split(MPI_COMM_WORLD, 0, (world_rank * 7 + 3) % world_size, comm);
  }
  MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

static void draw_counts(struct call* call) {
  const int salt = below(1000), is_reversed = below(2);
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(types[call->type], &low, &extent);
  int at = 0;
  for (int i = 0; i < call->ranks; ++i) {
    const int r = is_reversed ? call->ranks - 1 - i : i;
    call->counts[r] = (call->count * (r + 1) + salt) % (call->count + 1);
    call->places[r] = at;
    at += call->counts[r] + salt % 3;
    call->even[i] = call->count / 2;
    call->even_places[i] = i * (call->count / 2 + 1);
    call->bytes_places[i] = call->even_places[i] * (int)extent;
    call->types[i] = types[call->type];
  }
}

static void draw_call(struct call* call) {
  static const int counts[] = {0, 1, 2, 3, 10, 17, 100, 260, 1000, 2000};
  memset(call, 0, sizeof *call);
  const int which = below(COMMS + 1), form = below(6), root = below(world_size);
  call->comm = which == COMMS ? MPI_COMM_WORLD : comms[which];
  MPI_Comm_rank(call->comm, &call->rank);
  MPI_Comm_size(call->comm, &call->ranks);
  call->kind = (enum kind)below(KINDS);
  call->form = form < 4 ? BLOCKING : (enum form)(form - 3);
  call->count = counts[below(10)];
  call->type = below(TYPES);
  call->root = root % call->ranks; /* halves of a split may differ in size: all have drawn as often */
  call->in_place = below(4) == 0;
  call->op = below(4);
  call->fault = below(8) == 0 ? (enum fault)below(FAULTS) : NONE;
  draw_counts(call);
}

static void fill(const struct call* call, int salt) {
  const int is_real = call->kind >= REDUCE && call->type == 2;
  for (int i = 0; i < (ROOM + 2 * MARGIN) / 8; ++i) {
    const int in = (world_rank * 31 + i * 7 + salt) % 1000, out = (world_rank * 17 + i * 3 + salt) % 500;
    if (is_real)
      ((double*)input)[i] = in, ((double*)output)[i] = out;
    else
      ((int*)input)[2 * i] = ((int*)input)[2 * i + 1] = in, ((int*)output)[2 * i] = ((int*)output)[2 * i + 1] = out;
  }
}

/* The three forms of one collective, with the same arguments. */
#define MAKE(name, nonblocking, ...)                                                 \
  (call->form == BLOCKING      ? MPI_##name(__VA_ARGS__, call->comm)                 \
   : call->form == NONBLOCKING ? MPI_##nonblocking(__VA_ARGS__, call->comm, request) \
                               : MPI_##name##_init(__VA_ARGS__, call->comm, MPI_INFO_NULL, request))

static int move(struct call* call, MPI_Request* request) {
  char *const in = input + MARGIN, *const out = output + MARGIN;
  const int is_root = call->rank == call->root, count = call->fault == COUNT ? -1 : call->count;
  const int root = call->fault != ROOT ? call->root
                   : call->count % 2   ? -5
                                       : call->ranks,
            own = call->counts[call->rank];
  const MPI_Datatype type = call->fault == TYPE ? MPI_DATATYPE_NULL : types[call->type];
  void* const from = call->in_place ? MPI_IN_PLACE : in;
  void* const root_from = call->in_place && is_root ? MPI_IN_PLACE : in;
  void* const root_into = call->in_place && is_root ? MPI_IN_PLACE : out;
  int *const counts = call->counts, *const places = call->places, *const even = call->even;
  int *const even_places = call->even_places, *const bytes = call->bytes_places;
  switch (call->kind) {
    case BCAST: return MAKE(Bcast, Ibcast, out, count, type, root);
    case SCATTER: return MAKE(Scatter, Iscatter, in, count, type, root_into, count, type, root);
    case GATHER: return MAKE(Gather, Igather, root_from, count, type, out, count, type, root);
    case SCATTERV: return MAKE(Scatterv, Iscatterv, in, counts, places, type, root_into, own, type, root);
    case GATHERV: return MAKE(Gatherv, Igatherv, root_from, own, type, out, counts, places, type, root);
    case ALLGATHER: return MAKE(Allgather, Iallgather, from, count, type, out, count, type);
    case ALLGATHERV: return MAKE(Allgatherv, Iallgatherv, from, own, type, out, counts, places, type);
    case ALLTOALL: return MAKE(Alltoall, Ialltoall, from, count, type, out, count, type);
    case ALLTOALLV: return MAKE(Alltoallv, Ialltoallv, from, even, even_places, type, out, even, even_places, type);
    default: return MAKE(Alltoallw, Ialltoallw, from, even, bytes, call->types, out, even, bytes, call->types);
  }
}

/* MPICH looks at neither count nor type of these, and crashes. */
static int reduce(struct call* call, MPI_Request* request) {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BOR};
  char *const in = input + MARGIN, *const out = output + MARGIN;
  const int is_root = call->rank == call->root, count = call->count;
  const int root = call->fault == ROOT ? call->ranks : call->root;
  const MPI_Datatype type = call->type == 2 && call->op < 3 ? MPI_DOUBLE : MPI_INT;
  const MPI_Op op = call->fault == OPERATION ? MPI_OP_NULL : ops[call->op];
  void* const from = call->in_place ? MPI_IN_PLACE : in;
  void* const root_from = call->in_place && is_root ? MPI_IN_PLACE : in;
  switch (call->kind) {
    case REDUCE: return MAKE(Reduce, Ireduce, root_from, out, count, type, op, root);
    case ALLREDUCE: return MAKE(Allreduce, Iallreduce, from, out, count, type, op);
    case REDUCE_SCATTER_BLOCK: return MAKE(Reduce_scatter_block, Ireduce_scatter_block, from, out, count, type, op);
    case REDUCE_SCATTER: return MAKE(Reduce_scatter, Ireduce_scatter, from, out, call->counts, type, op);
    case SCAN: return MAKE(Scan, Iscan, from, out, count, type, op);
    case EXSCAN: return MAKE(Exscan, Iexscan, from, out, count, type, op);
    default:
      return call->form == BLOCKING      ? MPI_Barrier(call->comm)
             : call->form == NONBLOCKING ? MPI_Ibarrier(call->comm, request)
                                         : MPI_Barrier_init(call->comm, MPI_INFO_NULL, request);
  }
}

static int make(struct call* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = call->kind < REDUCE ? move(call, &request) : reduce(call, &request);
  if (call->form == BLOCKING || code != MPI_SUCCESS) return code;
  for (int turn = call->form == PERSISTENT && !call->in_place ? 2 : 1; turn > 0 && code == MPI_SUCCESS; --turn) {
    if (call->form == PERSISTENT) code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (call->form == PERSISTENT) MPI_Request_free(&request);
  return code;
}

static uint64_t hash(const char* data) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (int i = 0; i < ROOM + 2 * MARGIN; ++i) sum = (sum ^ (unsigned char)data[i]) * 0x100000001b3u;
  return sum;
}

static void make_and_tell(int number) {
  struct call call;
  int class = MPI_SUCCESS;
  draw_call(&call);
  fill(&call, number);
  snprintf(at_hand, sizeof at_hand, "call %d, %s in form %d, %d of type %d, root %d, in place %d, fault %d, %d ranks",
           number, names[call.kind], (int)call.form, call.count, call.type, call.root, call.in_place, (int)call.fault,
           call.ranks);
  alarm(SECONDS);
  MPI_Error_class(make(&call), &class);
  alarm(0);
  if (class == MPI_SUCCESS)
    printf("rank %d: %s: %016llx %016llx\n", world_rank, at_hand, (unsigned long long)hash(output),
           (unsigned long long)hash(input));
  else
    printf("rank %d: %s: class %d\n", world_rank, at_hand, class);
}

int main(int argc, char** argv) {
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  state = (uint64_t)(argc > 1 ? atoll(argv[1]) : 1) * 2654435761u + 88172645463325252u;
  for (int i = 0; i < 20; ++i) below(2);
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGALRM, say_hang);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  input = malloc(ROOM + 2 * MARGIN), output = malloc(ROOM + 2 * MARGIN);
  make_types();
  for (int i = 0; i < COMMS; ++i) make_comm(&comms[i]);
  for (int number = 0; number < calls; ++number) {
    const int renewed = below(12 * COMMS);
    if (renewed < COMMS) {
      MPI_Comm_free(&comms[renewed]);
      make_comm(&comms[renewed]);
    }
    make_and_tell(number);
  }
  for (int i = 0; i < COMMS; ++i) MPI_Comm_free(&comms[i]);
  for (int i = 3; i < TYPES; ++i) MPI_Type_free(&types[i]);
  free(input), free(output);
  MPI_Finalize();
  return 0;
}
