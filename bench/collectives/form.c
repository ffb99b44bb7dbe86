#include "form.h"

#include <dlfcn.h>
#include <string.h>

#include "../common/compute.h"

static enum { BLOCKING, NONBLOCKING, PERSISTENT } form;

int set_form(const char* name) {
  static const char* const names[] = {"blocking", "nonblocking", "persistent"};
  for (int i = BLOCKING; i <= PERSISTENT; ++i)
    if (strcmp(name, names[i]) == 0) {
      form = i;
      return form != PERSISTENT || dlsym(RTLD_DEFAULT, "PMPI_Barrier_init") != NULL;
    }
  return 0;
}

const char* form_prefix(void) { return form == BLOCKING ? "" : "i"; }

int has_form(const struct operation* operation) { return form == BLOCKING || operation->native.start != NULL; }

/* ---- calls ----------------------------------------------------------------------------------------------------------
 */

struct prepared prepare_call(const struct problem* problem, int is_native, const void* in, void* out) {
  const struct operation* operation = problem->operation;
  struct prepared call = {problem,  is_native ? &operation->native : &operation->preloaded, in, out, MPI_REQUEST_NULL,
                          is_native};
  if (form == PERSISTENT) call.forms->init(problem, in, out, &call.request);
  return call;
}

void release_call(struct prepared* call) {
  if (form == PERSISTENT) call->is_native ? PMPI_Request_free(&call->request) : MPI_Request_free(&call->request);
}

static void test_and_compute(struct prepared* call, double us, double test_us) {
  for (int is_done = 0; test_us > 0 && us > test_us; us -= test_us) {
    compute(test_us);
    if (is_done) continue;
    if (call->is_native)
      PMPI_Test(&call->request, &is_done, MPI_STATUS_IGNORE);
    else
      MPI_Test(&call->request, &is_done, MPI_STATUS_IGNORE);
  }
  compute(us);
}

void make_call(struct prepared* call, double compute_us, double test_us) {
  if (form == BLOCKING) {
    compute(compute_us);
    call->forms->run(call->problem, call->in, call->out);
    return;
  }
  if (form == NONBLOCKING)
    call->forms->start(call->problem, call->in, call->out, &call->request);
  else
    call->is_native ? PMPI_Start(&call->request) : MPI_Start(&call->request);
  if (compute_us > 0) test_and_compute(call, compute_us, test_us);
  call->is_native ? PMPI_Wait(&call->request, MPI_STATUS_IGNORE) : MPI_Wait(&call->request, MPI_STATUS_IGNORE);
}
