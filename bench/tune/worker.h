/* What the files of the tuning worker share. One process is one rank; everything here is per process. */
#ifndef ESPALIER_TUNE_WORKER_H
#define ESPALIER_TUNE_WORKER_H

#define _GNU_SOURCE
#include <mpi.h>
#include <stddef.h>

#include <espalier/espalier.h>

enum { OPERATIONS = 11, MOST_TEXT = 8192 };

/* Facts of the job, equal on all ranks but for `rank`. */
struct job {
  int rank;
  int ranks;
  int hosts;    /* groups of ranks that share memory */
  int cores;    /* that the ranks of all hosts may use together */
  int* host_of; /* by rank, numbered by first appearance */
};
extern struct job job;

/* Prints why and ends the whole job. */
_Noreturn void fail(const char* what, const char* detail);

/* Microseconds of a clock that all ranks of one host share. */
double now_us(void);

void* allocate(size_t bytes); /* page aligned, at least one page; freed with free() */

/* Prints a JSON text: without quotes, backslashes and what is no printable ASCII. */
void print_text(const char* text);

/* Waits for a message; yields the core where there are more ranks than cores. */
void wait_for(MPI_Request* request);

/* Until all ranks are here. */
void meet(void);

/* ---- operations.c --------------------------------------------------------------------------------------------------
 */

/* The index of an operation by Espalier's name for it; -1 when there is none. */
int find_operation(const char* name);
const char* operation_name(int operation);

/* One rank's buffers in bytes, where `bytes` is what Espalier calls the size of the problem: the vector, or one block.
 */
size_t in_bytes(int operation, size_t bytes);
size_t out_bytes(int operation, size_t bytes);

/* Bytes of `out` whose contents MPI defines on this rank. */
size_t defined_bytes(int operation, size_t bytes);

/* Fills `in` so that results can be compared bit by bit between any two correct libraries: sums are exact. */
void fill_input(int operation, size_t bytes, void* in);

/* One call, root 0; `is_native` takes PMPI's. Reductions sum doubles, ints when `bytes` is no multiple of 8, and
 * combine bytes by OR when it is none of 4. */
void run_operation(int operation, int is_native, size_t bytes, void* in, void* out, MPI_Comm comm);

/* ---- measure.c, curves.c -------------------------------------------------------------------------------------------
 */

/* "OP BYTES ROUNDS BATCH_US COLD ARM;ARM;...": times the arms interleaved; rank 0 prints one line of JSON. */
void measure(char* arguments);

/* "copy", "waiting", "latency" or "connections": one property of the machine; rank 0 prints one line of JSON. */
void draw_curve(const char* name);

#endif
