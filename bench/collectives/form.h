/* In which form the worker makes its calls: blocking, or start and wait of nonblocking or persistent ones, with compute
 * between the two if that is wanted. */
#ifndef ESPALIER_BENCH_FORM_H
#define ESPALIER_BENCH_FORM_H

#include "../common/operations.h"

/* Takes "blocking", "nonblocking" or "persistent"; 0 if it is neither, or the MPI at hand has no such form. */
int set_form(const char* name);

/* What Espalier_Describe begins the operation's name with. */
const char* form_prefix(void);

/* Whether the operation has calls of that form. */
int has_form(const struct operation* operation);

/* One of the two libraries' calls on one pair of buffers, ready to be made again and again. */
struct prepared {
  const struct problem* problem;
  const struct forms* forms;
  const void* in;
  void* out;
  MPI_Request request; /* of a persistent one */
  int is_native;
};

/* Collective over the problem's communicator, as release_call() is. */
struct prepared prepare_call(const struct problem* problem, int is_native, const void* in, void* out);
void release_call(struct prepared* call);

/* Makes it, and computes for so many microseconds between start and wait, with MPI_Test every `test_us` of them unless
 * that is 0. A blocking call computes first. */
void make_call(struct prepared* call, double compute_us, double test_us);

#endif
