/* A job that stands still, for tests of who says why.
 *
 *     standstill HOW RANK [SECONDS]
 *
 * After some collectives that go well, RANK does something else than the others, which call MPI_Bcast of 64 bytes from
 * rank 0 (RANK must be another): it sleeps, spins, receives a message that nobody sends, calls MPI_Barrier, waits in
 * another communicator, stops itself, ends MPI ("finalize") or, asked for "root" or "size", gives another; asked for
 * "type", it gives another to the MPI_Allreduce of an MPI_INT that follows; "nonblocking" has the others wait in an
 * MPI_Iallreduce before, "counts" in the first MPI_Alltoallv, "types" in the first MPI_Alltoallw, "nonblocking-types"
 * in an MPI_Ialltoallw that is not the first, "early" in the first call of a communicator of all ranks; "first" has
 * them wait in the first call of all, and RANK may be any, as in "early". "part" has the members of a communicator
 * wait for RANK in its second call, those that are as even or as odd as RANK, while all others sleep; "threads" two
 * threads of RANK each for the rank that is that far away; "refused" has rank 1 alone make calls that its MPI refuses,
 * and RANK sleep, "part-refused" rank 2 in "part"; "roots" has the others make an MPI_Reduce to rank 0, and RANK to
 * rank 2. With SECONDS it comes after so many, and all goes well. With "kept", errors are returned, and rank 0 prints
 * how many ranks got one. Rank 0 prints "standing" before. All die of themselves after two minutes.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sleep_long(int seconds) {
  for (int i = 0; i < seconds * 10; ++i) usleep(100000);
}

static void spin_long(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) continue;
}

static void add_up_later(int number) {
  int sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange(int rank, int size) {
  char from[64] = {0}, into[64];
  int counts[64], places[64];
  for (int r = 0; r < size; ++r) counts[r] = (rank + r) % 2, places[r] = r;
  MPI_Alltoallv(from, counts, places, MPI_CHAR, into, counts, places, MPI_CHAR, MPI_COMM_WORLD);
}

static void exchange_types(int size, int blocks) {
  char from[64] = {0}, into[64];
  int counts[64], places[64];
  MPI_Datatype types[64];
  MPI_Request request;
  for (int r = 0; r < size; ++r) counts[r] = 1, places[r] = r, types[r] = MPI_CHAR;
  if (blocks) {
    MPI_Alltoallw(from, counts, places, types, into, counts, places, types, MPI_COMM_WORLD);
    return;
  }
  MPI_Ialltoallw(from, counts, places, types, into, counts, places, types, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* On one rank alone: no count is less than nothing. */
static void be_refused(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i) MPI_Bcast(NULL, -1, MPI_BYTE, 0, comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

static void add_up_at(int root) {
  static int from[2048], into[2048];
  MPI_Reduce(from, into, 2048, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
}

static void do_otherwise(const char* how, int seconds, MPI_Comm other) {
  int nothing = 0;
  char buffer[64] = {0};
  if (!strcmp(how, "sleep") || !strcmp(how, "nonblocking") || !strcmp(how, "counts") || !strcmp(how, "early") ||
      !strcmp(how, "refused") || strstr(how, "types"))
    sleep_long(seconds);
  if (!strcmp(how, "spin")) spin_long(seconds);
  if (!strcmp(how, "receive")) MPI_Recv(&nothing, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "elsewhere")) MPI_Barrier(other);
  if (!strcmp(how, "stop")) raise(SIGSTOP);
  if (!strcmp(how, "finalize")) MPI_Finalize();
  if (!strcmp(how, "root")) MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 1, MPI_COMM_WORLD);
  if (!strcmp(how, "size")) MPI_Bcast(buffer, sizeof buffer / 2, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "roots")) add_up_at(2);
  if (!strcmp(how, "type")) {
    MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(buffer, &nothing, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* All ranks are told of a call that does not fit, and the communicator goes on. */
static int keep_errors(const char* how, int is_culprit) {
  char buffer[64] = {0};
  int code = MPI_SUCCESS, told = 0, sum = 0, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (is_culprit)
    code = strcmp(how, "barrier") ? MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 1, MPI_COMM_WORLD)
                                  : MPI_Barrier(MPI_COMM_WORLD);
  else
    code = MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, MPI_COMM_WORLD);
  told = code != MPI_SUCCESS;
  MPI_Allreduce(&told, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("told %d\n", sum);
  MPI_Finalize();
  return 0;
}

static int stand_at_first(int rank, int culprit, int seconds) {
  int sum = 0;
  if (rank == 0) printf("standing\n");
  fflush(stdout);
  if (rank == culprit) sleep_long(seconds);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

static int stand_in_part(int is_refused, int rank, int culprit, int seconds) {
  int sum = 0;
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, part);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_refused && rank == 2) be_refused(part);
  if (rank == 0) printf("standing\n");
  fflush(stdout);
  if (rank == culprit || rank % 2 != culprit % 2) sleep_long(seconds);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}

static void* enter(void* comm) {
  MPI_Barrier(*(MPI_Comm*)comm);
  return NULL;
}

/* Of four ranks: pairs, and those across, so that every rank is in two communicators. */
static int stand_in_threads(int rank, int culprit, int seconds) {
  MPI_Comm pair, across;
  pthread_t thread;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &across);
  if (rank == 0) printf("standing\n");
  fflush(stdout);
  if (rank == culprit) {
    pthread_create(&thread, NULL, enter, &pair);
    enter(&across);
    pthread_join(thread, NULL);
  } else {
    sleep_long(seconds);
    if (rank / 2 == culprit / 2) enter(&pair);
    if (rank % 2 == culprit % 2) enter(&across);
  }
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  char buffer[64] = {0};
  int rank = 0, size = 0, culprit = 0, seconds = 120, sum = 0, threads = 0;
  MPI_Comm other, early;
  alarm(120);
  if (argc > 1 && !strcmp(argv[1], "threads"))
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) return 2;
  culprit = atoi(argv[2]);
  if (argc > 3 && !strcmp(argv[3], "kept")) return keep_errors(argv[1], rank == culprit);
  if (argc > 3) seconds = atoi(argv[3]);
  if (!strcmp(argv[1], "first")) return stand_at_first(rank, culprit, seconds);
  if (strstr(argv[1], "part")) return stand_in_part(!strcmp(argv[1], "part-refused"), rank, culprit, seconds);
  if (!strcmp(argv[1], "threads")) return stand_in_threads(rank, culprit, seconds);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_dup(MPI_COMM_WORLD, &early);
  for (int i = 0; i < 20; ++i) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(other);
  }
  /* The first one asks all ranks for memory. */
  if (!strcmp(argv[1], "nonblocking")) add_up_later(rank);
  if (!strcmp(argv[1], "nonblocking-types")) exchange_types(size, 0);
  if (!strcmp(argv[1], "refused") && rank == 1) be_refused(MPI_COMM_WORLD);
  if (rank == 0) printf("standing\n");
  fflush(stdout);
  if (rank == culprit) do_otherwise(argv[1], seconds, other);
  const int is_late = argc > 3;
  if (!strcmp(argv[1], "nonblocking") && (rank != culprit || is_late)) add_up_later(rank);
  if (!strcmp(argv[1], "counts") && (rank != culprit || is_late)) exchange(rank, size);
  if (strstr(argv[1], "types") && (rank != culprit || is_late)) exchange_types(size, !strcmp(argv[1], "types"));
  if (!strcmp(argv[1], "early")) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, early);
  if (!strcmp(argv[1], "roots") && rank != culprit) add_up_at(0);
  /* A broadcast's root need not wait for anybody: what follows does. */
  if (rank != culprit || is_late) {
    MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&early);
  MPI_Comm_free(&other);
  MPI_Finalize();
  if (rank == 0) printf("sum %d\n", sum);
  return 0;
}
