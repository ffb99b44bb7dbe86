/* Ranks that go on after one of them was killed (User-Level Failure Mitigation).
 *
 *     survivors OPERATION die VICTIM ROUND     rank VICTIM kills itself before that round
 *     survivors OPERATION leave VICTIM ROUND   it revokes the communicator instead
 *     survivors OPERATION stop VICTIM ROUND    it stops for a second, as a debugger would stop it; nobody fails
 *
 * Round 0 is the communicator's first collective.
 *
 * OPERATION: allreduce, bcast, barrier, alltoallv or scatterv; for the first two a size in bytes may follow, as in
 * bcast:100000. The collectives run on a duplicate of MPI_COMM_WORLD. Every survivor prints what it met:
 *
 *     rank R: failed|revoked in round N, again: failed|revoked, after S ms, M calls of the handler
 *
 * where S is the time since it began to wait, and `again` what the next call gave. Then the survivors revoke, shrink
 * and agree, and do 1000 allreduces on what is left: the lowest rank prints "went on: SIZE ranks, WRONG wrong, HOW"
 * with what Espalier says that an allreduce is. Only Open MPI goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>

enum { rounds = 3000, most_ranks = 64, most_bytes = 1 << 20 };

static int rank, size, handled;
static MPI_Comm comm;
static char *sent, *received;
static int bytes = 8;

static void count_error(MPI_Comm* where, int* code, ...) {
  (void)where, (void)code;
  ++handled;
}

static const char* name_of(int code) {
  int class = MPI_ERR_OTHER;
  if (code == MPI_SUCCESS) return "fine";
  MPI_Error_class(code, &class);
  return class == MPIX_ERR_PROC_FAILED ? "failed" : class == MPIX_ERR_REVOKED ? "revoked" : "another error";
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int alltoallv(MPI_Comm where) {
  static int counts[most_ranks], places[most_ranks];
  for (int r = 0; r < size; ++r) counts[r] = bytes, places[r] = r * bytes;
  return MPI_Alltoallv(sent, counts, places, MPI_BYTE, received, counts, places, MPI_BYTE, where);
}

static int scatterv(int root, MPI_Comm where) {
  static int counts[most_ranks], places[most_ranks];
  for (int r = 0; r < size; ++r) counts[r] = bytes, places[r] = r * bytes;
  return MPI_Scatterv(sent, counts, places, MPI_BYTE, received, bytes, MPI_BYTE, root, where);
}

static int do_round(const char* operation, int round, MPI_Comm where) {
  if (strcmp(operation, "barrier") == 0) return MPI_Barrier(where);
  if (strcmp(operation, "bcast") == 0) return MPI_Bcast(sent, bytes, MPI_BYTE, round % size, where);
  if (strcmp(operation, "alltoallv") == 0) return alltoallv(where);
  if (strcmp(operation, "scatterv") == 0) return scatterv(round % size, where);
  return MPI_Allreduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, where);
}

/* Waits first, so that the others have left the call before and wait in this one. */
static void go(const char* how) {
  usleep(100000);
  if (strcmp(how, "leave") == 0) {
    MPIX_Comm_revoke(comm);
  } else if (strcmp(how, "stop") == 0) {
    char command[100];
    snprintf(command, sizeof command, "(sleep 1; kill -CONT %d) & kill -STOP %d", (int)getpid(), (int)getpid());
    if (system(command) != 0) abort();
  } else {
    raise(SIGKILL);
  }
}

static void go_on(void) {
  MPI_Comm rest;
  int wrong = 0, all_wrong = 0, flag = 1, old = size;
  char how[400] = "without Espalier";
  MPIX_Comm_revoke(comm);
  if (MPIX_Comm_shrink(comm, &rest) != MPI_SUCCESS) return;
  MPI_Comm_rank(rest, &rank);
  MPI_Comm_size(rest, &size);
  if (MPIX_Comm_agree(rest, &flag) != MPI_SUCCESS || flag != 1) ++wrong;
  for (int round = 0; round < 1000; ++round) {
    double mine = rank + round, sum = 0;
    if (MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, rest) != MPI_SUCCESS) ++wrong;
    if (sum != size * (size - 1) / 2.0 + (double)size * round) ++wrong;
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, rest);
  int (*describe)(const char*, MPI_Aint, int, MPI_Comm, char*, int) = NULL;
  *(void**)&describe = dlsym(RTLD_DEFAULT, "Espalier_Describe");
  if (describe != NULL) describe("allreduce", 8, 0, rest, how, sizeof how);
  if (rank == 0) printf("went on: %d of %d ranks, %d wrong, %s\n", size, old, all_wrong, how);
  MPI_Comm_free(&rest);
  MPI_Comm_free(&comm);
}

/* Open MPI 5.0.11 hangs in MPI_Finalize after every eighth recovery or so, without Espalier, too. */
static void end_anyhow(int signal) {
  (void)signal;
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  char* const operation = argv[1];
  const char* const how = argv[2];
  const int victim = atoi(argv[3]), at = atoi(argv[4]);
  char* const colon = strchr(operation, ':');
  if (colon != NULL) bytes = atoi(colon + 1), *colon = '\0';
  alarm(60);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  sent = calloc((size_t)size, (size_t)bytes);
  received = calloc((size_t)size, (size_t)bytes);
  int code = MPI_SUCCESS, round = 0;
  double last = now();
  for (; round < rounds && code == MPI_SUCCESS; ++round) {
    if (rank == victim && round == at) go(how);
    if (code == MPI_SUCCESS) last = now();
    code = do_round(operation, round, comm);
  }
  if (code != MPI_SUCCESS) {
    const double waited = now() - last;
    const int again = do_round(operation, round, comm);
    printf("rank %d: %s in round %d, again: %s, after %.0f ms, %d calls of the handler\n", rank, name_of(code),
           round - 1, name_of(again), waited, handled);
    fflush(stdout);
    go_on();
    fflush(stdout);
    signal(SIGALRM, end_anyhow);
    alarm(5);
  } else {
    printf("rank %d: fine\n", rank);
  }
  MPI_Finalize();
  return 0;
}

#else

int main(void) {
  printf("not offered\n");
  return 0;
}

#endif
