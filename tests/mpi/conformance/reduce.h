/* Reductions with the proof that they did what MPI says. */
#ifndef ESPALIER_TESTS_REDUCE_H
#define ESPALIER_TESTS_REDUCE_H

#include "check.h"

enum reduction { reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan, reduction_count };

struct reduction_call {
  const char* what;
  enum reduction reduction;
  int in_place;
  MPI_Datatype type; /* committed */
  MPI_Op op;
  int count; /* elements of the vector; of one rank's block for the scattering ones, more or less for reduce_scatter */
  int root;  /* reduce */
  MPI_Comm comm;
};

/* Elements that rank `r` receives, and that every rank brings. */
int elements_of(const struct reduction_call* call, int r, int ranks);
int elements_brought(const struct reduction_call* call, int ranks);

/* Ranks whose operands make rank r's result: 0 to the returned one, -1 for none. Scatters: rank r's block of them. */
int last_operand(const struct reduction_call* call, int r, int ranks);

/* Makes the call with the library under test (or, with `natively`, the one underneath) on a copy of `operand`, which is
 * `elements_brought` elements at their places, and puts the result into `result`, which has room for as many. */
int run_reduction(const struct reduction_call* call, int natively, const void* operand, void* result);

#endif
