/* Arms side by side: the same collective by native MPI, by Espalier's own choice and by choices forced on it.
 *
 * Method (bench/METHOD.md; Wu, Kendall, Aluru 2005, section 7): before timing, each arm's result is compared with
 * native's, bit by bit. In every round each arm has one batch of calls, and who begins changes from round to round; a
 * batch begins with a call that is not timed and takes the blame for what the arm before left in the caches. A barrier
 * precedes each call outside the time, and the slowest rank counts. Each arm has a communicator of its own, so that
 * changing between arms costs nothing that a program would not pay. */

#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARMS = 32, MOST_ROUNDS = 64, LEAST_CALLS = 4, MOST_CALLS = 512, MOST_ROTATIONS = 4 };

struct problem {
  int operation;
  size_t bytes;
  int cold;
  double batch_us; /* time meant for one batch */
  /* Several pairs of buffers that calls take in turn: no program calls again and again with one. */
  int rotations;
  size_t in_stride, out_stride;
  char *in, *out;
};

struct arm {
  const char* text;
  int is_native;
  MPI_Comm comm;
  int calls;         /* per batch, from now on */
  int timed;         /* calls so far */
  char refused[256]; /* why it takes no part; else empty */
  char said[256];    /* what Espalier says of the call */
  double p50[MOST_ROUNDS], p10[MOST_ROUNDS];
};

static MPI_Comm pool[MOST_ARMS];
static int pooled;

/* ---- calls ---------------------------------------------------------------------------------------------------------
 */

static void run_arm(const struct arm* arm, const struct problem* p, int turn) {
  size_t slot = (size_t)(turn % p->rotations);
  run_operation(p->operation, arm->is_native, p->bytes, p->in + slot * p->in_stride, p->out + slot * p->out_stride,
                arm->comm);
}

/* Nothing of the buffers stays in the first and second cache levels. */
static void purge_cache(void) {
  enum { SWEEP = 16 << 20 };
  static char* sweep;
  if (sweep == NULL) sweep = allocate(SWEEP);
  memset(sweep, 1, SWEEP);
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* From what each rank saw to how long each call took, on rank 0. Ranks of one host read one clock: from the last entry
 * (with more ranks than cores from the first: who has not been scheduled yet is part of the cost) to the last exit.
 * Between hosts clocks differ and the longest stay counts. */
static void join_ranks(const double* entry, const double* exit, int calls, double* took) {
  double begin[MOST_CALLS], mine[MOST_CALLS];
  if (job.hosts > 1) {
    for (int i = 0; i < calls; ++i) mine[i] = exit[i] - entry[i];
    PMPI_Reduce(mine, took, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return;
  }
  PMPI_Reduce(entry, begin, calls, MPI_DOUBLE, job.ranks <= job.cores ? MPI_MAX : MPI_MIN, 0, MPI_COMM_WORLD);
  PMPI_Reduce(exit, took, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; i < calls; ++i) took[i] -= begin[i];
}

/* A batch that took far longer than meant (the machine does other things, too) makes those after it shorter, so that a
 * budget holds; rank 0's clock decides for all. */
static void shorten(struct arm* arm, const struct problem* p, double took_us) {
  int calls = arm->calls;
  if (took_us > 3 * p->batch_us) calls = (int)(calls * p->batch_us / took_us);
  calls = calls < LEAST_CALLS ? LEAST_CALLS : calls;
  PMPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  arm->calls = calls;
}

static void run_batch(struct arm* arm, const struct problem* p, int round) {
  static int turn;
  double entry[MOST_CALLS], exit[MOST_CALLS], took[MOST_CALLS], begin = now_us();
  const int calls = arm->calls;
  run_arm(arm, p, turn++);
  for (int i = 0; i < calls; ++i, ++turn) {
    if (p->cold) purge_cache();
    PMPI_Barrier(MPI_COMM_WORLD);
    entry[i] = now_us();
    run_arm(arm, p, turn);
    exit[i] = now_us();
  }
  arm->timed += calls;
  join_ranks(entry, exit, calls, took);
  shorten(arm, p, now_us() - begin);
  if (job.rank != 0) return;
  qsort(took, (size_t)calls, sizeof(double), ascending);
  arm->p50[round] = took[calls / 2];
  arm->p10[round] = took[calls / 10];
}

/* ---- preparing an arm ----------------------------------------------------------------------------------------------
 */

static int any_rank(int is_true) {
  int any = 0;
  PMPI_Allreduce(&is_true, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any;
}

/* A communicator that keeps its selections: arms differ, so they must not share one. */
static MPI_Comm pooled_communicator(int index) {
  for (; pooled <= index; ++pooled) PMPI_Comm_dup(MPI_COMM_WORLD, &pool[pooled]);
  return pool[index];
}

static void select_arm(struct arm* arm, const struct problem* p, int index) {
  arm->is_native = strcmp(arm->text, "native") == 0;
  arm->comm = arm->is_native ? MPI_COMM_WORLD : pooled_communicator(index);
  if (arm->is_native) return;
  const char* selection = strcmp(arm->text, "auto") == 0 ? "" : arm->text;
  if (any_rank(Espalier_Choose(operation_name(p->operation), selection, arm->comm) != MPI_SUCCESS))
    snprintf(arm->refused, sizeof(arm->refused), "not a selection of this operation");
}

/* Runs the arm once and compares with what native delivered. */
static void check_data(struct arm* arm, const struct problem* p, const char* expected) {
  size_t defined = defined_bytes(p->operation, p->bytes);
  memset(p->out, 0x5a, out_bytes(p->operation, p->bytes));
  run_arm(arm, p, 0);
  /* The root of a broadcast keeps its message in the input. */
  int is_wrong = defined > 0 && !(p->operation == find_operation("broadcast") && job.rank == 0) &&
                 memcmp(p->out, expected, defined) != 0;
  if (any_rank(is_wrong)) snprintf(arm->refused, sizeof(arm->refused), "wrong data");
}

/* Espalier leaves a call it can not serve as selected to native; such an arm would only measure native again. */
static void ask_what_runs(struct arm* arm, const struct problem* p) {
  if (arm->is_native) return;
  if (Espalier_Describe(operation_name(p->operation), (MPI_Aint)p->bytes, 0, arm->comm, arm->said, sizeof(arm->said)) !=
      MPI_SUCCESS)
    snprintf(arm->said, sizeof(arm->said), "unknown");
  int stays_native = strncmp(arm->said, "native", 6) == 0 && strcmp(arm->text, "auto") != 0;
  if (any_rank(stays_native)) memcpy(arm->refused, arm->said, sizeof(arm->refused));
}

/* As many calls as fit the time of a batch, equal on all ranks. The first calls pay for pages and programs that no
 * later one does, so the fastest counts. */
static void calibrate(struct arm* arm, const struct problem* p) {
  double fastest = 0, slowest;
  for (int i = 0; i < 4; ++i) {
    double begin = now_us();
    if (p->cold) purge_cache();
    PMPI_Barrier(MPI_COMM_WORLD);
    run_arm(arm, p, i);
    double took = now_us() - begin;
    if (i == 0 || took < fastest) fastest = took;
  }
  PMPI_Allreduce(&fastest, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double calls = p->batch_us / (slowest > 0.1 ? slowest : 0.1);
  arm->calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

static void prepare_arm(struct arm* arm, const struct problem* p, const char* expected, int index) {
  select_arm(arm, p, index);
  if (!arm->refused[0]) check_data(arm, p, expected);
  if (!arm->refused[0]) ask_what_runs(arm, p);
  if (!arm->refused[0]) calibrate(arm, p);
}

/* ---- one problem ---------------------------------------------------------------------------------------------------
 */

static size_t padded(size_t bytes) { return (bytes + 127) / 64 * 64; }

static void make_buffers(struct problem* p) {
  const size_t most = (size_t)64 << 20;
  p->in_stride = padded(in_bytes(p->operation, p->bytes));
  p->out_stride = padded(out_bytes(p->operation, p->bytes));
  size_t fit = most / (p->in_stride + p->out_stride);
  p->rotations = fit < 1 ? 1 : fit > MOST_ROTATIONS ? MOST_ROTATIONS : (int)fit;
  p->in = allocate((size_t)p->rotations * p->in_stride);
  p->out = allocate((size_t)p->rotations * p->out_stride);
  memset(p->out, 1, (size_t)p->rotations * p->out_stride);
  for (int i = 0; i < p->rotations; ++i) fill_input(p->operation, p->bytes, p->in + (size_t)i * p->in_stride);
}

/* What native delivers for the first pair of buffers. */
static char* expect(const struct problem* p) {
  char* expected = allocate(out_bytes(p->operation, p->bytes));
  run_operation(p->operation, 1, p->bytes, p->in, expected, MPI_COMM_WORLD);
  return expected;
}

static void print_times(const char* name, const double* times, int count) {
  printf(", \"%s\": [", name);
  for (int i = 0; i < count; ++i) printf("%s%.3f", i > 0 ? ", " : "", times[i]);
  printf("]");
}

static void print_arm(const struct arm* arm, int rounds) {
  int measured = arm->refused[0] ? 0 : rounds;
  printf("{\"arm\": ");
  print_text(arm->text);
  printf(", \"said\": ");
  print_text(arm->said);
  printf(", \"refused\": ");
  print_text(arm->refused);
  printf(", \"calls\": %d", arm->timed);
  print_times("p50_us", arm->p50, measured);
  print_times("p10_us", arm->p10, measured);
  printf("}");
}

static void print_answer(const struct problem* p, const struct arm* arms, int count, int rounds) {
  printf("{\"op\": \"%s\", \"bytes\": %zu, \"arms\": [", operation_name(p->operation), p->bytes);
  for (int i = 0; i < count; ++i) {
    if (i > 0) printf(", ");
    print_arm(&arms[i], rounds);
  }
  printf("]}\n");
  fflush(stdout);
}

static int split_arms(char* list, struct arm* arms) {
  int count = 0;
  char* rest;
  memset(arms, 0, MOST_ARMS * sizeof(*arms));
  for (char* text = strtok_r(list, ";", &rest); text != NULL; text = strtok_r(NULL, ";", &rest)) {
    if (count == MOST_ARMS) fail("too many arms in one command: ", text);
    arms[count++].text = text;
  }
  return count;
}

void measure(char* arguments) {
  static struct arm arms[MOST_ARMS];
  struct problem p = {0};
  char name[32], *list = arguments;
  int rounds = 0, read = 0;
  if (sscanf(arguments, "%31s %zu %d %lf %d %n", name, &p.bytes, &rounds, &p.batch_us, &p.cold, &read) != 5)
    fail("cannot read: measure ", arguments);
  p.operation = find_operation(name);
  if (p.operation < 0 || rounds < 1 || rounds > MOST_ROUNDS || p.bytes > (size_t)1 << 30)
    fail("cannot do: measure ", arguments);
  int count = split_arms(list + read, arms);
  make_buffers(&p);
  char* expected = expect(&p);
  for (int i = 0; i < count; ++i) prepare_arm(&arms[i], &p, expected, i);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      struct arm* arm = &arms[(i + round) % count];
      if (!arm->refused[0]) run_batch(arm, &p, round);
    }
  if (job.rank == 0) print_answer(&p, arms, count, rounds);
  free(expected);
  free(p.in);
  free(p.out);
}
