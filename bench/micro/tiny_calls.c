/* Short calls of one collective, for counting instructions (bench/instructions.sh).
 *
 *   bench_tiny_calls_<abi> CALLS [OPERATION [BYTES]]
 *
 * Native barriers around every call: the ring of messages never fills, and a rank that callgrind slows down finds the
 * others' messages already there, so that its path is the same instructions every time. */

#include "../common/job.h"
#include "../common/operations.h"

#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  learn_job("bench_tiny_calls");
  set_reduction_type("double");
  const int calls = argc > 1 ? atoi(argv[1]) : 1000;
  const struct operation* operation = find_operation(argc > 2 ? argv[2] : "bcast");
  if (operation == NULL) fail("unknown operation: ", argv[2]);
  if (goes_along_edges(operation)) set_graph("grid", MPI_COMM_WORLD);
  struct problem problem;
  const long bytes = whole_elements(operation, argc > 3 ? atol(argv[3]) : 4);
  if (!make_problem(operation, bytes, MPI_COMM_WORLD, &problem)) fail("out of memory", "");
  char* in = allocate((size_t)extent_bytes(&problem, operation->in));
  char* out = allocate((size_t)extent_bytes(&problem, operation->out));
  fill_input(&problem, in);
  reset_output(&problem, out);
  for (int i = 0; i < calls; ++i) {
    PMPI_Barrier(MPI_COMM_WORLD);
    operation->preloaded.run(&problem, in, out);
  }
  if (is_wrong(&problem, out)) fail("wrong data: ", operation->name);
  release_problem(&problem);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
