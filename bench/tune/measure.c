/* Arms side by side: the same collective by native MPI, by Espalier's own choice and by choices forced on it.
 *
 * Method (bench/METHOD.md; Wu, Kendall, Aluru 2005, section 7): before timing, each arm's result is compared with
 * native's, bit by bit. In every round each arm has one batch of calls, and who begins changes from round to round; a
 * batch begins with a call that is not timed and takes the blame for what the arm before left in the caches. All ranks
 * begin a call together (common/lines.h), and the slowest counts. Each arm has a communicator of its own, so that
 * changing between arms costs nothing that a program would not pay. `native` is what a program gets that selects it:
 * the call reaches MPI through Espalier, which costs tens of nanoseconds. Rounds during which the ranks were moved are
 * run again. */

#include "../common/lines.h"
#include "../common/others.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARMS = 32, MOST_ROUNDS = 64, LEAST_CALLS = 4, MOST_CALLS = 512, MOST_ROTATIONS = 4 };

/* A call that takes longer than this (on slow links) is far above the scheduler's time slices: one per round will do,
 * and what the arm before left in the caches is nothing to it. */
static const double slow_us = 20e3;

/* What arms are measured with. */
struct bench {
  struct problem problem;
  int cold;
  double batch_us; /* time meant for one batch */
  /* Several pairs of buffers that calls take in turn: no program calls again and again with one. */
  int rotations;
  size_t in_stride, out_stride;
  char *in, *out;
};

struct arm {
  const char* text;
  MPI_Comm comm;
  int calls;         /* per batch, from now on */
  int least;         /* of them, however long they take */
  int timed;         /* calls so far */
  char refused[256]; /* why it takes no part; else empty */
  char said[256];    /* what Espalier says of the call */
  double p50[MOST_ROUNDS], p10[MOST_ROUNDS];
};

static MPI_Comm pool[MOST_ARMS];
static int pooled;

/* ---- calls ---------------------------------------------------------------------------------------------------------
 */

static void run_arm(const struct arm* arm, struct bench* bench, int turn) {
  const size_t slot = (size_t)(turn % bench->rotations);
  bench->problem.comm = arm->comm;
  bench->problem.operation->preloaded.run(&bench->problem, bench->in + slot * bench->in_stride,
                                          bench->out + slot * bench->out_stride);
}

/* A batch that took far longer than meant (the machine does other things, too) makes those after it shorter, so that a
 * budget holds; rank 0's clock decides for all. */
static void shorten(struct arm* arm, const struct bench* bench, double took_us) {
  int calls = arm->calls;
  if (took_us > 3 * bench->batch_us) calls = (int)(calls * bench->batch_us / took_us);
  calls = calls < arm->least ? arm->least : calls;
  PMPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  arm->calls = calls;
}

static void run_batch(struct arm* arm, struct bench* bench, int round) {
  static int turn;
  double entry[MOST_CALLS], exit[MOST_CALLS], took[MOST_CALLS], begin = now_us();
  const int calls = arm->calls;
  if (arm->least > 1) run_arm(arm, bench, turn++);
  for (int i = 0; i < calls; ++i, ++turn) {
    if (bench->cold) purge_cache();
    start_together();
    entry[i] = now_us();
    run_arm(arm, bench, turn);
    exit[i] = now_us();
  }
  arm->timed += calls;
  join_times(entry, exit, calls, took);
  shorten(arm, bench, now_us() - begin);
  if (job.rank != 0) return;
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

static void select_arm(struct arm* arm, const struct operation* operation, int index) {
  arm->comm = pooled_communicator(index);
  const char* selection = strcmp(arm->text, "auto") == 0 ? "" : arm->text;
  if (any_rank(Espalier_Choose(operation->described, selection, arm->comm) != MPI_SUCCESS))
    snprintf(arm->refused, sizeof(arm->refused), "not a selection of this operation");
}

/* How long the slowest rank takes for one call. */
static double try_call(const struct arm* arm, struct bench* bench, int turn) {
  double slowest, begin = now_us();
  if (bench->cold) purge_cache();
  start_together();
  run_arm(arm, bench, turn);
  double took = now_us() - begin;
  PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* Runs the arm once and compares with what native delivered. Returns how long the slowest rank took. */
static double check_data(struct arm* arm, struct bench* bench, const char* expected) {
  const struct problem* p = &bench->problem;
  reset_output(p, bench->out);
  const double took = try_call(arm, bench, 0);
  int differs = has_result(p) && memcmp(bench->out, expected, (size_t)extent_bytes(p, p->operation->out)) != 0;
  if (any_rank(differs)) snprintf(arm->refused, sizeof(arm->refused), "wrong data");
  return took;
}

/* Espalier leaves a call it can not serve as selected to native; such an arm would only measure native again. */
static void ask_what_runs(struct arm* arm, const struct problem* p) {
  if (strcmp(arm->text, "native") == 0) return;
  /* Short ones by the dedicated path and all others by native: which of them, is what the call itself finds out. */
  if (learns_sizes(p->operation) && strncmp(arm->text, "tiny", 4) == 0) {
    snprintf(arm->said, sizeof(arm->said), "%s", arm->text);
    return;
  }
  if (Espalier_Describe(p->operation->described, (MPI_Aint)p->bytes, 0, arm->comm, arm->said, sizeof(arm->said)) !=
      MPI_SUCCESS)
    snprintf(arm->said, sizeof(arm->said), "unknown");
  int stays_native = strncmp(arm->said, "native", 6) == 0 && strcmp(arm->text, "auto") != 0;
  if (any_rank(stays_native)) memcpy(arm->refused, arm->said, sizeof(arm->refused));
}

/* As many calls as fit the time of a batch, equal on all ranks. The first calls pay for pages and programs that no
 * later one does, so the fastest counts, of slow ones all the same the `first`. */
static void calibrate(struct arm* arm, struct bench* bench, double first) {
  double fastest = first;
  for (int i = 0; i < 4 && fastest < slow_us; ++i) {
    double took = try_call(arm, bench, i);
    if (took < fastest) fastest = took;
  }
  double calls = bench->batch_us / (fastest > 0.1 ? fastest : 0.1);
  arm->least = fastest < slow_us ? LEAST_CALLS : 1;
  arm->calls = calls < arm->least ? arm->least : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

static void prepare_arm(struct arm* arm, struct bench* bench, const char* expected, int index) {
  double first = 0;
  select_arm(arm, bench->problem.operation, index);
  if (!arm->refused[0]) first = check_data(arm, bench, expected);
  if (!arm->refused[0]) ask_what_runs(arm, &bench->problem);
  if (!arm->refused[0]) calibrate(arm, bench, first);
}

/* ---- one problem ---------------------------------------------------------------------------------------------------
 */

static size_t padded(long bytes) { return ((size_t)bytes + 127) / 64 * 64; }

static void make_buffers(struct bench* bench) {
  const size_t most = (size_t)64 << 20;
  const struct problem* p = &bench->problem;
  bench->in_stride = padded(extent_bytes(p, p->operation->in));
  bench->out_stride = padded(extent_bytes(p, p->operation->out));
  size_t fit = most / (bench->in_stride + bench->out_stride);
  bench->rotations = fit < 1 ? 1 : fit > MOST_ROTATIONS ? MOST_ROTATIONS : (int)fit;
  bench->in = allocate((size_t)bench->rotations * bench->in_stride);
  bench->out = allocate((size_t)bench->rotations * bench->out_stride);
  for (int i = 0; i < bench->rotations; ++i) {
    fill_input(p, bench->in + (size_t)i * bench->in_stride);
    reset_output(p, bench->out + (size_t)i * bench->out_stride);
  }
}

/* What native delivers for the first pair of buffers, which must be right. */
static char* expect(struct bench* bench) {
  const size_t bytes = (size_t)extent_bytes(&bench->problem, bench->problem.operation->out);
  char* expected = allocate(bytes);
  bench->problem.comm = MPI_COMM_WORLD;
  bench->problem.operation->native.run(&bench->problem, bench->in, bench->out);
  memcpy(expected, bench->out, bytes);
  if (any_rank(is_wrong(&bench->problem, expected)))
    fail("native delivered wrong data: ", bench->problem.operation->name);
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

static void print_conditions(struct conditions where) {
  printf("\"line_ns\": %.0f, \"others\": %.3f, \"disturbed\": %d", where.line_ns, where.others,
         is_disturbed(where.others));
}

static void print_answer(const struct problem* p, struct conditions where, const struct arm* arms, int count,
                         int rounds) {
  printf("{\"op\": \"%s\", \"bytes\": %ld, ", p->operation->name, p->bytes);
  print_conditions(where);
  printf(", \"arms\": [");
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

/* All rounds of one command, as run_in_one_place takes them. */
struct race {
  struct arm* arms;
  int count, rounds;
  struct bench* bench;
};

static void run_rounds(void* what) {
  const struct race* race = what;
  for (int i = 0; i < race->count; ++i) race->arms[i].timed = 0;
  for (int round = 0; round < race->rounds; ++round)
    for (int i = 0; i < race->count; ++i) {
      struct arm* arm = &race->arms[(i + round) % race->count];
      if (!arm->refused[0]) run_batch(arm, race->bench, round);
    }
}

void measure(char* arguments) {
  static struct arm arms[MOST_ARMS];
  struct bench bench = {0};
  char name[32];
  long bytes = 0;
  int rounds = 0, read = 0;
  if (sscanf(arguments, "%31s %ld %d %lf %d %n", name, &bytes, &rounds, &bench.batch_us, &bench.cold, &read) != 5)
    fail("cannot read: measure ", arguments);
  const struct operation* operation = find_operation(name);
  if (operation == NULL || rounds < 1 || rounds > MOST_ROUNDS || bytes < 0 || bytes > 1L << 30 ||
      bytes != whole_elements(operation, bytes) || !make_problem(operation, bytes, MPI_COMM_WORLD, &bench.problem))
    fail("cannot do: measure ", arguments);
  const int count = split_arms(arguments + read, arms);
  make_buffers(&bench);
  char* expected = expect(&bench);
  for (int i = 0; i < count; ++i) prepare_arm(&arms[i], &bench, expected, i);
  const struct conditions where = run_in_one_place(run_rounds, &(struct race){arms, count, rounds, &bench});
  if (job.rank == 0) print_answer(&bench.problem, where, arms, count, rounds);
  free(expected);
  free(bench.in);
  free(bench.out);
  release_problem(&bench.problem);
}

/* Barriers for so long that little of what others do can hide. Rank 0's clock decides for all. */
static void linger(void* nothing) {
  (void)nothing;
  const double begin = now_us();
  for (int is_over = 0; !is_over; PMPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    for (int i = 0; i < 64; ++i) PMPI_Barrier(MPI_COMM_WORLD);
    is_over = now_us() - begin > (job.ranks > job.cores ? 500e3 : 100e3);
  }
}

void look(void) {
  const struct conditions where = run_in_one_place(linger, NULL);
  if (job.rank != 0) return;
  printf("{");
  print_conditions(where);
  printf("}\n");
  fflush(stdout);
}
