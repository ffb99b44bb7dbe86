/* What the workers can measure: one table of operations, each with its native and its preloaded call, and with data
 * whose result is known. */
#ifndef ESPALIER_BENCH_OPERATIONS_H
#define ESPALIER_BENCH_OPERATIONS_H

#include <mpi.h>

#include "graph.h"

/* What a buffer of one rank holds. NOTHING as input: the data, if any, start in the output (bcast). The last two: a
 * block for each edge from the rank or to it. */
enum extent { NOTHING, ONE_BLOCK, ALL_BLOCKS, SENT_BLOCKS, RECEIVED_BLOCKS };

/* Where MPI defines the result: exscan leaves the first rank's output as it is, or not. */
enum holder { EVERYBODY, ROOT, NOT_THE_FIRST, NOBODY };

struct problem;

/* One call; the root, where there is one, is rank 0. */
typedef void run_call(const struct problem* problem, const void* in, void* out);
/* Begins a nonblocking one, or makes a persistent one. */
typedef void request_call(const struct problem* problem, const void* in, void* out, MPI_Request* request);

/* One library's three forms of an operation; a baseline has the first only. */
struct forms {
  run_call* run;
  request_call *start, *init;
};

struct operation {
  const char* name;      /* as --ops takes it */
  const char* described; /* its name for Espalier_Describe */
  enum extent in, out;
  enum holder result_at;
  int is_reduction;
  int is_baseline; /* the native side is spelled out in sends or other collectives; not part of `all` */
  struct forms native, preloaded;
  /* Whether `out` differs from what the inputs of fill_input imply; only for ranks that have a result. */
  int (*is_wrong)(const struct problem* problem, const char* out);
};

/* One operation and size. The v-forms (and reduce_scatter) deal the same number of elements unevenly: half a block, one
 * and a half, half … */
struct problem {
  const struct operation* operation;
  MPI_Comm comm;
  const struct graph* graph; /* that neighbourhood collectives go along; else NULL */
  long bytes;                /* one rank's block or vector; one pair's block for alltoall(v), an edge's */
  int count;                 /* the same in elements */
  MPI_Datatype type;
  int rank, ranks;
  int *counts, *offsets;                 /* uneven blocks of all ranks, in elements */
  int *send_counts, *send_offsets;       /* alltoallv: what this rank sends to each, or along each edge … */
  int *receive_counts, *receive_offsets; /* … and receives from each */
  int *shares, *share_offsets;           /* one vector dealt to all ranks (bcast_two_stage) */
};

/* The table, ended by an entry without a name. */
extern const struct operation operations[];

/* The operation of that name; NULL when there is none. */
const struct operation* find_operation(const char* name);

/* Whether it is a neighbourhood collective: not part of `all` either. */
int goes_along_edges(const struct operation* operation);

/* Whether no rank knows all sizes of a call from its arguments: scatterv, gatherv, alltoallv. */
int learns_sizes(const struct operation* operation);

/* Makes the graph of that name (graph.h) what neighbourhood collectives go along, on all ranks together; 0 if there is
 * none. Until then there is none: they cannot be made. */
int set_graph(const char* name, MPI_Comm comm);

/* Makes what `reduction_type` ("double", "int", "float") names the type of reductions; 0 if it names none. */
int set_reduction_type(const char* reduction_type);

/* `bytes` rounded up to whole elements of the operation's type. */
long whole_elements(const struct operation* operation, long bytes);

/* Fills `problem` for the ranks of `comm`, or for those of the graph. `bytes` must be whole elements, and `bytes` times
 * the ranks below 2 GiB where a buffer holds all blocks. Returns 0 when memory is short. Release with release_problem.
 */
int make_problem(const struct operation* operation, long bytes, MPI_Comm comm, struct problem* problem);
void release_problem(struct problem* problem);

/* Whether MPI says what this rank's output is after the call. */
int has_result(const struct problem* problem);

/* Whether `out` differs, on a rank that has a result, from what the inputs of fill_input imply. */
int is_wrong(const struct problem* problem, const char* out);

/* Bytes of this rank's input and output. */
long extent_bytes(const struct problem* problem, enum extent extent);

/* Writes this rank's input: values that tell rank and place. */
void fill_input(const struct problem* problem, char* in);

/* Writes what is there before the call: the message at a broadcast's root, elsewhere what no result looks like. */
void reset_output(const struct problem* problem, char* out);

#endif
