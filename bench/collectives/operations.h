/* What the benchmark's worker can measure: one table of operations, each with its native and its preloaded call. */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H

#include <mpi.h>

/* What a buffer of one rank holds. NOTHING as input: the data, if any, start in the output (bcast). */
enum extent { NOTHING, ONE_BLOCK, ALL_BLOCKS };

struct problem;

/* One call on MPI_COMM_WORLD; the root, where there is one, is rank 0. */
typedef void run_call(const struct problem* problem, const void* in, void* out);

struct operation {
  const char* name;      /* as --ops takes it */
  const char* described; /* its name for Espalier_Describe; for a v-form that of the operation it is a form of */
  enum extent in, out;
  int is_reduction;
  int is_baseline; /* the native side is spelled out in sends or other collectives; not part of `all` */
  run_call* native;
  run_call* preloaded;
  /* Whether `out` differs from what the inputs of fill_input imply for this rank. */
  int (*is_wrong)(const struct problem* problem, const char* out);
};

/* One operation and size. The v-forms (and reduce_scatter) deal the same number of elements unevenly: half a block, one
 * and a half, half … */
struct problem {
  const struct operation* operation;
  long bytes; /* one rank's block or vector; one pair's block for alltoall(v) */
  int count;  /* the same in elements */
  MPI_Datatype type;
  int rank, ranks;
  int *counts, *offsets;                 /* uneven blocks of all ranks, in elements */
  int *send_counts, *send_offsets;       /* alltoallv: what this rank sends to each … */
  int *receive_counts, *receive_offsets; /* … and receives from each */
  int *shares, *share_offsets;           /* one vector dealt to all ranks (bcast_two_stage) */
};

/* The table, ended by an entry without a name. */
extern const struct operation operations[];

/* Makes what `reduction_type` ("double", "int", "float") names the type of reductions; 0 if it names none. */
int set_reduction_type(const char* reduction_type);

/* `bytes` rounded up to whole elements of the operation's type. */
long whole_elements(const struct operation* operation, long bytes);

/* Fills `problem` for MPI_COMM_WORLD. `bytes` must be whole elements, and `bytes` times the ranks below 2 GiB where a
 * buffer holds all blocks. Returns 0 when memory is short. Release with release_problem. */
int make_problem(const struct operation* operation, long bytes, struct problem* problem);
void release_problem(struct problem* problem);

/* Bytes of this rank's input and output. */
long extent_bytes(const struct problem* problem, enum extent extent);

/* Writes this rank's input: values that tell rank and place. */
void fill_input(const struct problem* problem, char* in, char* out);

#endif
