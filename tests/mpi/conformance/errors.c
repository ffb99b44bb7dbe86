#include "exchange.h"
#include "themes.h"

/* Wrong arguments must give the error class that the MPI underneath gives. What that is differs between MPIs, so this
 * theme prints the classes and the test compares the lines of a native run with those of a run with Espalier.
 *
 * Only faults that a rank can see alone are tried, and all ranks make the same one. */

static int handler_calls;

static void count_call(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handler_calls;
}

static void report(const char* what, int code) {
  int class = MPI_SUCCESS, lowest = 0, highest = 0;
  MPI_Error_class(code, &class);
  PMPI_Allreduce(&class, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  PMPI_Allreduce(&class, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check(lowest == highest, "%s: ranks disagree on the error", what);
  say("errors: %s: class %d", what, class);
}

static void wrong_broadcasts(MPI_Comm comm) {
  int value = 1;
  report("broadcast, root -1", MPI_Bcast(&value, 1, MPI_INT, -1, comm));
  report("broadcast, root beyond the last", MPI_Bcast(&value, 1, MPI_INT, world_size, comm));
  report("broadcast, root beyond the last, no data", MPI_Bcast(&value, 0, MPI_INT, world_size, comm));
  report("broadcast, negative count", MPI_Bcast(&value, -3, MPI_INT, 0, comm));
  report("broadcast, no datatype", MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm));
  report("broadcast, no communicator", MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL));
}

static void wrong_allgathers(MPI_Comm comm) {
  int value = 1, all[1024] = {0};
  report("allgather, negative send count", MPI_Allgather(&value, -1, MPI_INT, all, 1, MPI_INT, comm));
  report("allgather, negative receive count", MPI_Allgather(&value, 1, MPI_INT, all, -1, MPI_INT, comm));
  report("allgather, no send type", MPI_Allgather(&value, 1, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm));
  report("allgather, no receive type", MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, comm));
#ifndef OPEN_MPI /* 4.1 and 5.0 look into the communicator before they check it, and crash */
  report("allgather, no communicator", MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_NULL));
#endif
}

static void wrong_movements(MPI_Comm comm) {
  int value = 1, all[1024] = {0};
  report("gather, root -1", MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, -1, comm));
  report("gather, negative send count", MPI_Gather(&value, -1, MPI_INT, all, -1, MPI_INT, 0, comm));
  report("scatter, root beyond the last", MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, world_size, comm));
  report("alltoall, negative count", MPI_Alltoall(all, -1, MPI_INT, all, -1, MPI_INT, comm));
  report("alltoall, no receive type", MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, comm));
}

static void wrong_reductions(MPI_Comm comm) {
  int value = 1, sum = 0;
  report("reduce, root -1", MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, -1, comm));
#ifdef OPEN_MPI /* MPICH 5.0 does not look at allreduce's arguments, and crashes */
  report("allreduce, negative count", MPI_Allreduce(&value, &sum, -1, MPI_INT, MPI_SUM, comm));
  report("scan, negative count", MPI_Scan(&value, &sum, -1, MPI_INT, MPI_SUM, comm));
  report("allreduce, no datatype", MPI_Allreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
  report("allreduce, no operation", MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, comm));
  report("allreduce, location of an integer", MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_MAXLOC, comm));
  report("allreduce, bits of a float", MPI_Allreduce(&value, &sum, 1, MPI_FLOAT, MPI_BAND, comm));
#endif
}

static void not_committed(MPI_Comm comm) {
  MPI_Datatype type;
  int values[4] = {0};
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  report("broadcast, type not committed", MPI_Bcast(values, 1, type, 0, comm));
  MPI_Type_free(&type);
}

void theme_errors(void) {
  if (world_size > 1024) return;
  MPI_Comm comm;
  MPI_Errhandler counting;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  /* Faults without a communicator are raised on MPI_COMM_WORLD, since MPI-4 on MPI_COMM_SELF. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_barrier("before wrong calls",
                comm); /* of a nonblocking first call MPICH tells no class in an array of statuses */
  wrong_broadcasts(comm);
  wrong_allgathers(comm);
  wrong_movements(comm);
  wrong_reductions(comm);
  not_committed(comm);
  report("barrier, no communicator", MPI_Barrier(MPI_COMM_NULL));
  check_communicator("after wrong calls", comm);

  int value = 0;
  MPI_Comm_create_errhandler(count_call, &counting);
  MPI_Comm_set_errhandler(comm, counting);
  MPI_Bcast(&value, 1, MPI_INT, -1, comm);
  say("errors: handler called %d times", handler_calls);
  check_communicator("after the handler", comm);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&counting);
  MPI_Comm_free(&comm);
}
