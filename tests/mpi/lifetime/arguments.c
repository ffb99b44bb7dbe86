/* A rank alone makes a call whose arguments MPI forbids, and all go on: arguments CALLS INTS. Native refuses such a
 * call where it is made, so nobody may wait for anybody. Each is made on a communicator of its own that has had CALLS
 * calls before, by the first rank and by the last; a dozen right ones of the same kind follow, of INTS numbers. Rank 0
 * prints how many, each rank what went wrong. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16, SECONDS = 8, AFTERWARDS = 12 };

enum operation {
  BCAST,
  SCATTER,
  GATHER,
  SCATTERV,
  GATHERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  REDUCE,
  ALLREDUCE,
  REDUCE_SCATTER_BLOCK,
  REDUCE_SCATTER,
  SCAN,
  EXSCAN,
  OPERATIONS
};
static const char* const operations[] = {"bcast",          "scatter",   "gather",     "scatterv",
                                         "gatherv",        "allgather", "allgatherv", "alltoall",
                                         "alltoallv",      "reduce",    "allreduce",  "reduce_scatter_block",
                                         "reduce_scatter", "scan",      "exscan"};

enum fault { NONE, NEGATIVE_COUNT, NULL_TYPE, UNCOMMITTED, BAD_ROOT, NULL_OPERATION, FAULTS };
static const char* const faults[] = {"nothing",      "a negative count", "no type", "a type not committed",
                                     "a wrong root", "no operation"};

static int rank, ranks, ints;
static int *input, *output;
static char at_hand[100];

/* Of a call that does not come back, by the rank that is in it. */
static void say_hang(int signal) {
  (void)signal;
  char line[160];
  const int length = snprintf(line, sizeof line, "rank %d: %s does not come back\n", rank, at_hand);
  if (write(1, line, (size_t)length)) _exit(1);
  _exit(1);
}

static int call(enum operation operation, enum fault fault, MPI_Comm comm) {
  const int count = fault == NEGATIVE_COUNT ? -1 : ints, root = fault == BAD_ROOT ? ranks : 0;
  int counts[MOST], places[MOST];
  for (int r = 0; r < ranks; ++r) counts[r] = count, places[r] = r * ints;
  MPI_Datatype uncommitted, type = fault == NULL_TYPE ? MPI_DATATYPE_NULL : MPI_INT;
  MPI_Type_contiguous(1, MPI_INT, &uncommitted);
  if (fault == UNCOMMITTED) type = uncommitted;
  const MPI_Op op = fault == NULL_OPERATION ? MPI_OP_NULL : MPI_SUM;
  int code = MPI_SUCCESS;
  switch (operation) {
    case BCAST: code = MPI_Bcast(output, count, type, root, comm); break;
    case SCATTER: code = MPI_Scatter(input, count, type, output, count, type, root, comm); break;
    case GATHER: code = MPI_Gather(input, count, type, output, count, type, root, comm); break;
    case SCATTERV: code = MPI_Scatterv(input, counts, places, type, output, count, type, root, comm); break;
    case GATHERV: code = MPI_Gatherv(input, count, type, output, counts, places, type, root, comm); break;
    case ALLGATHER: code = MPI_Allgather(input, count, type, output, count, type, comm); break;
    case ALLGATHERV: code = MPI_Allgatherv(input, count, type, output, counts, places, type, comm); break;
    case ALLTOALL: code = MPI_Alltoall(input, count, type, output, count, type, comm); break;
    case ALLTOALLV: code = MPI_Alltoallv(input, counts, places, type, output, counts, places, type, comm); break;
    case REDUCE: code = MPI_Reduce(input, output, count, type, op, root, comm); break;
    case ALLREDUCE: code = MPI_Allreduce(input, output, count, type, op, comm); break;
    case REDUCE_SCATTER_BLOCK: code = MPI_Reduce_scatter_block(input, output, count, type, op, comm); break;
    case REDUCE_SCATTER: code = MPI_Reduce_scatter(input, output, counts, type, op, comm); break;
    case SCAN: code = MPI_Scan(input, output, count, type, op, comm); break;
    case EXSCAN: code = MPI_Exscan(input, output, count, type, op, comm); break;
    case OPERATIONS: break;
  }
  MPI_Type_free(&uncommitted);
  return code;
}

/* The last number that a right call leaves in the output; every rank brings its rank. -1: none. */
static int last_number(enum operation operation) {
  switch (operation) {
    case GATHER:
    case GATHERV: return rank == 0 ? ranks - 1 : -1;
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV: return ranks - 1;
    case REDUCE: return rank == 0 ? ranks * (ranks - 1) / 2 : -1;
    case ALLREDUCE:
    case REDUCE_SCATTER_BLOCK:
    case REDUCE_SCATTER: return ranks * (ranks - 1) / 2;
    case SCAN: return rank * (rank + 1) / 2;
    case EXSCAN: return rank > 0 ? rank * (rank - 1) / 2 : -1;
    default: return 0;
  }
}

static void call_rightly(enum operation operation, MPI_Comm comm) {
  for (int i = 0; i < ranks * ints; ++i) input[i] = rank, output[i] = operation == BCAST && rank == 0 ? 0 : -1;
  const int code = call(operation, NONE, comm), expected = last_number(operation);
  const int is_for_all =
      operation == GATHER || operation == GATHERV || (operation >= ALLGATHER && operation <= ALLTOALLV);
  const int last = output[(is_for_all ? ranks * ints : ints) - 1];
  if (code != MPI_SUCCESS || (expected >= 0 && last != expected))
    printf("rank %d: after %s: code %d, %d instead of %d\n", rank, at_hand, code, last, expected);
}

/* Whether all MPIs refuse that on the rank alone. */
static int is_refused(enum operation operation, enum fault fault, int wrong) {
  const int is_reduction = operation >= REDUCE, has_root = operation <= GATHERV || operation == REDUCE;
  const int is_scatter = operation == SCATTER || operation == SCATTERV;
  if (fault == BAD_ROOT) return has_root;
  if (fault == NULL_OPERATION || is_reduction) /* MPICH looks at nothing else */
    return is_reduction && fault == NULL_OPERATION;
  if (operation == SCATTER && fault == NULL_TYPE) return wrong != 0; /* not Open MPI's root */
  if (is_scatter && fault == UNCOMMITTED) return 0;                  /* nor any rank of it */
  return 1;
}

static void make_wrong_call(enum operation operation, enum fault fault, int wrong, int calls) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < calls; ++i) MPI_Barrier(comm);
  snprintf(at_hand, sizeof at_hand, "%s with %s on rank %d", operations[operation], faults[fault], wrong);
  alarm(SECONDS);
  if (rank == wrong && call(operation, fault, comm) == MPI_SUCCESS) printf("rank %d: %s succeeds\n", rank, at_hand);
  for (int i = 0; i < AFTERWARDS; ++i) call_rightly(operation, comm);
  alarm(0);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGALRM, say_hang);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  ints = atoi(argv[2]);
  input = malloc(sizeof *input * (size_t)(ranks * ints));
  output = malloc(sizeof *output * (size_t)(ranks * ints));
  strcpy(at_hand, "the first call of all, a bcast with no type,");
  alarm(SECONDS);
  if (rank == 0 && MPI_Bcast(output, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS) puts("rank 0: succeeds");
  call_rightly(ALLREDUCE, MPI_COMM_WORLD);
  int made = 0;
  for (int operation = 0; operation < OPERATIONS; ++operation)
    for (int fault = NONE + 1; fault < FAULTS; ++fault)
      for (int wrong = 0; wrong < ranks; wrong += ranks - 1)
        if (is_refused((enum operation)operation, (enum fault)fault, wrong)) {
          make_wrong_call((enum operation)operation, (enum fault)fault, wrong, atoi(argv[1]));
          ++made;
        }
  if (rank == 0) printf("arguments: %d refused\n", made);
  MPI_Finalize();
  return 0;
}
