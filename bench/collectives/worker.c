/* The measuring half of `espalier bench`: native and Espalier's collectives side by side in one job.
 *
 *   espalier_bench_<abi> --ops bcast,allreduce --sizes 4,1024,65536 --rounds 5 --budget-ms 40 [--type int] [--cold]
 *                        [--barrier] [--form blocking|nonblocking|persistent] [--overlap [--test-us 20]]
 *                        [--graph grid|stencil|random:N]
 *
 * A size is one rank's block (bcast: the message; reductions: the vector, rounded up to whole elements). Espalier must
 * be preloaded: its arm calls MPI_..., native calls PMPI_.... Prints on rank 0 one JSON object per operation, size and
 * round. Method (METHOD.md): in every round native and Espalier alternate in small batches; all ranks begin a call
 * together (common/lines.h), with --barrier after a native barrier, as in other benchmarks; a call lasts from the last
 * entry (with more ranks than cores: the first) to the last exit; buffers rotate; `control` is the ratio of native's
 * batches with odd numbers to those with even ones. Before measuring, the data of both arms are checked. `line_ns` says
 * how far apart the first two ranks were in this round, `others` how many processors other programs kept
 * busy, and `disturbed` whether that was too much (others.h). Nonblocking and persistent calls last from start to the
 * end of wait. With --overlap rounds have a second half, with as much compute between the two as the call takes alone,
 * and MPI_Test in it every so many microseconds; neighbourhood collectives go along that graph
 * (common/graph.h); overlap, in per cent, is what the OSU benchmarks call so: 100 - 100
 * (all - compute) / alone.
 */

#include "../common/compute.h"
#include "../common/job.h"
#include "../common/lines.h"
#include "../common/operations.h"
#include "../common/others.h"
#include "form.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <espalier/espalier.h>

enum { NATIVE, ESPALIER, CONTROL, ARMS }; /* control: every other batch of native */
enum { BATCH = 8, TURNS = 4, MAX_CALLS = 20000, MAX_SIZES = 64, MAX_OPERATIONS = 64 };

static struct {
  const struct operation* operations[MAX_OPERATIONS];
  int operation_count;
  long sizes[MAX_SIZES];
  int size_count;
  int rounds;
  double budget_us; /* for one operation, size and round, all arms together */
  int cold;
  int overlap;
  double test_us; /* 0: never */
  const char* graph;
} options = {{NULL}, 0, {4, 64, 1024, 16384, 65536, 1048576}, 6, 5, 40e3, 0, 0, 0, "grid"};

enum { ROTATIONS = 4 };

/* The inputs and outputs of one problem, to be used in turn. */
struct buffers {
  char *in, *out;
  long in_bytes, out_bytes; /* of one of them */
  int count;
  struct prepared calls[ESPALIER + 1][ROTATIONS]; /* by library and turn */
  double compute_us[ARMS];                        /* in each call */
};

/* Times of one arm's calls, as this rank saw them. */
struct samples {
  int count;
  double entry[MAX_CALLS];
  double exit[MAX_CALLS];
};

static void run_arm(int arm, struct buffers* buffers, int turn) {
  const int library = arm == ESPALIER ? ESPALIER : NATIVE;
  make_call(&buffers->calls[library][turn % buffers->count], buffers->compute_us[arm], options.test_us);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------
 */

/* Four pairs of buffers, page aligned and touched; fewer when four would take more than a quarter of a GiB. */
static struct buffers make_buffers(const struct problem* problem) {
  enum { LIMIT = 256 << 20 };
  struct buffers made = {.in_bytes = extent_bytes(problem, problem->operation->in),
                         .out_bytes = extent_bytes(problem, problem->operation->out),
                         .count = ROTATIONS};
  long larger = made.in_bytes > made.out_bytes ? made.in_bytes : made.out_bytes;
  while (made.count > 1 && made.count * larger > LIMIT) --made.count;
  const size_t in_size = (size_t)(made.count * made.in_bytes), out_size = (size_t)(made.count * made.out_bytes);
  made.in = allocate(in_size);
  made.out = allocate(out_size);
  memset(made.in, job.rank + 1, in_size);
  memset(made.out, job.rank + 1, out_size);
  return made;
}

static void prepare_calls(const struct problem* problem, struct buffers* buffers) {
  for (int library = NATIVE; library <= ESPALIER; ++library)
    for (int i = 0; i < buffers->count; ++i)
      buffers->calls[library][i] = prepare_call(problem, library == NATIVE, buffers->in + i * buffers->in_bytes,
                                                buffers->out + i * buffers->out_bytes);
}

static void release_buffers(struct buffers* buffers) {
  for (int library = NATIVE; library <= ESPALIER; ++library)
    for (int i = 0; i < buffers->count; ++i) release_call(&buffers->calls[library][i]);
  free(buffers->in);
  free(buffers->out);
}

/* Both arms must deliver the right data before their times mean anything. */
static void check_data(const struct problem* problem, struct buffers* buffers) {
  for (int arm = NATIVE; arm <= ESPALIER; ++arm) {
    fill_input(problem, buffers->in);
    reset_output(problem, buffers->out);
    run_arm(arm, buffers, 0);
    int wrong = is_wrong(problem, buffers->out), any_wrong = 0;
    PMPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any_wrong)
      fail(arm == NATIVE ? "native delivered wrong data: " : "Espalier delivered wrong data: ",
           problem->operation->name);
  }
}

/* ---- one round ------------------------------------------------------------------------------------------------------
 */

static void time_call(int arm, struct buffers* buffers, int turn, struct samples* samples) {
  if (options.cold) purge_cache();
  start_together();
  samples->entry[samples->count] = now_us();
  run_arm(arm, buffers, turn);
  samples->exit[samples->count++] = now_us();
}

/* Rank 0 gets the median and the tenth percentile of the calls' durations. Of an even number the mean of the two in the
 * middle: arms differ in how many calls they make, and of two the longer one is no median. */
static void reduce_samples(struct samples* samples, double* p50, double* p10) {
  static double took[MAX_CALLS];
  join_times(samples->entry, samples->exit, samples->count, took);
  *p50 = (took[(samples->count - 1) / 2] + took[samples->count / 2]) / 2;
  *p10 = took[samples->count / 10];
}

/* The native calls of both arms: as many as Espalier's. Calls that are slow now and then, as between slow links, weigh
 * in the mean of two calls more than in a single one. */
static void join_natives(const struct samples* one, const struct samples* other, struct samples* all) {
  all->count = 0;
  for (int i = 0; i < one->count + other->count; ++i) {
    const struct samples* from = i < one->count ? one : other;
    const int which = i < one->count ? i : i - one->count;
    all->entry[all->count] = from->entry[which];
    all->exit[all->count++] = from->exit[which];
  }
}

/* So many calls of one arm, after one that is not timed: it takes the blame for what the arm before left in the caches
 * (nothing to a call that fills a batch alone). */
static void run_batch(int arm, int calls, struct buffers* buffers, struct samples* samples) {
  static int turn;
  if (calls > 1) run_arm(arm, buffers, turn);
  for (int i = 0; i < calls; ++i) time_call(arm, buffers, ++turn, samples);
}

/* Calls of one batch: fewer than BATCH where one native call takes so long (between slow links, a second) that a round
 * of full batches would take more than ten times its budget. Rank 0's clock decides for all. */
static int derive_batch(struct buffers* buffers) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  run_arm(NATIVE, buffers, 0);
  PMPI_Barrier(MPI_COMM_WORLD);
  const double fit = 10 * options.budget_us / (TURNS * (now_us() - begin));
  int calls = fit < 1 ? 1 : fit < BATCH ? (int)fit : BATCH;
  PMPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return calls;
}

/* Batches of each arm in turn until the budget is spent; rank 0 says when, so that all ranks make the same calls.
 * Native and Espalier alternate: long messages find the caches for several calls as the arm before has left them, so
 * that an arm that follows its like has it better (1M: by a fifth). */
static void run_round(struct buffers* buffers, int batch, struct samples samples[ARMS]) {
  static const int order[TURNS] = {NATIVE, ESPALIER, CONTROL, ESPALIER};
  double begin = now_us();
  int go_on = 1;
  for (int arm = 0; arm < ARMS; ++arm) samples[arm].count = 0;
  while (go_on) {
    for (int i = 0; i < TURNS; ++i) run_batch(order[i], batch, buffers, &samples[order[i]]);
    go_on = now_us() - begin < options.budget_us && samples[ESPALIER].count + 2 * batch <= MAX_CALLS;
    PMPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

/* One round of one problem, as run_in_one_place takes it. */
struct round {
  struct buffers* buffers;
  int batch;
  struct samples* samples; /* by arm */
};

static void run_again(void* what) {
  const struct round* round = what;
  run_round(round->buffers, round->batch, round->samples);
}

/* What rank 0 prints of a round. Times in microseconds. */
struct summary {
  int calls; /* of each arm */
  double native_p50, native_p10;
  double espalier_p50, espalier_p10;
  double control; /* how native compares with itself */
  double overlap[ESPALIER + 1], with_compute[ESPALIER + 1];
};

static void summarize(struct samples samples[ARMS], struct summary* summary) {
  static struct samples natives;
  double half[2], unused;
  summary->calls = samples[ESPALIER].count;
  join_natives(&samples[NATIVE], &samples[CONTROL], &natives);
  reduce_samples(&natives, &summary->native_p50, &summary->native_p10);
  reduce_samples(&samples[ESPALIER], &summary->espalier_p50, &summary->espalier_p10);
  reduce_samples(&samples[NATIVE], &half[0], &unused);
  reduce_samples(&samples[CONTROL], &half[1], &unused);
  summary->control = half[0] / half[1];
}

/* The slowest rank's. */
static double measure_compute(double us) {
  double mine = time_compute(us), slowest = 0;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* The same round with compute in each call, as long as the call takes alone. */
static void measure_overlap(struct round* round, struct summary* summary) {
  double alone[ESPALIER + 1] = {summary->native_p50, summary->espalier_p50}, computed[ESPALIER + 1];
  PMPI_Bcast(alone, ESPALIER + 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int arm = 0; arm < ARMS; ++arm) round->buffers->compute_us[arm] = alone[arm == ESPALIER ? ESPALIER : NATIVE];
  for (int library = NATIVE; library <= ESPALIER; ++library) computed[library] = measure_compute(alone[library]);
  struct summary with;
  run_in_one_place(run_again, round);
  summarize(round->samples, &with);
  summary->with_compute[NATIVE] = with.native_p50, summary->with_compute[ESPALIER] = with.espalier_p50;
  for (int library = NATIVE; library <= ESPALIER; ++library) {
    const double left = 100 * (summary->with_compute[library] - computed[library]) / alone[library];
    summary->overlap[library] = left < 0 ? 100 : left > 100 ? 0 : 100 - left;
  }
  memset(round->buffers->compute_us, 0, sizeof round->buffers->compute_us);
}

static void print_round(const struct problem* problem, int round, struct conditions where, const struct summary* it) {
  char choice[256], described[64];
  snprintf(described, sizeof described, "%s%s", form_prefix(), problem->operation->described);
  if (Espalier_Describe(described, problem->bytes, 0, problem->comm, choice, sizeof(choice)) != MPI_SUCCESS)
    snprintf(choice, sizeof(choice), "unknown");
  printf("{\"op\": \"%s\", \"bytes\": %ld, \"round\": %d, \"ranks\": %d, \"nodes\": %d, ", problem->operation->name,
         problem->bytes, round, job.ranks, job.nodes);
  printf("\"line_ns\": %.0f, \"others\": %.3f, \"disturbed\": %d, ", where.line_ns, where.others,
         is_disturbed(where.others));
  printf("\"calls\": %d, \"native_p50_us\": %.3f, \"espalier_p50_us\": %.3f, \"control\": %.4f, ", it->calls,
         it->native_p50, it->espalier_p50, it->control);
  if (options.overlap)
    printf(
        "\"overlap\": {\"native_percent\": %.1f, \"espalier_percent\": %.1f, \"native_us\": %.3f, \"espalier_us\": "
        "%.3f}, ",
        it->overlap[NATIVE], it->overlap[ESPALIER], it->with_compute[NATIVE], it->with_compute[ESPALIER]);
  printf("\"native_p10_us\": %.3f, \"espalier_p10_us\": %.3f, \"choice\": \"%s\"}\n", it->native_p10, it->espalier_p10,
         choice);
  fflush(stdout);
}

static void measure(const struct operation* operation, long bytes) {
  static struct samples samples[ARMS];
  struct problem problem;
  if (!make_problem(operation, bytes, MPI_COMM_WORLD, &problem)) fail("out of memory", "");
  struct buffers buffers = make_buffers(&problem);
  prepare_calls(&problem, &buffers);
  check_data(&problem, &buffers);
  struct round again = {&buffers, derive_batch(&buffers), samples};
  for (int round = 0; round < options.rounds; ++round) {
    struct summary summary;
    const struct conditions where = run_in_one_place(run_again, &again);
    summarize(samples, &summary);
    if (options.overlap) measure_overlap(&again, &summary);
    if (job.rank == 0) print_round(&problem, round, where, &summary);
  }
  release_buffers(&buffers);
  release_problem(&problem);
}

/* Whether MPI's int counts and displacements can say where all blocks lie. */
static int is_countable(const struct operation* operation, long bytes) {
  if (operation->in != ALL_BLOCKS && operation->out != ALL_BLOCKS && !goes_along_edges(operation)) return 1;
  const long most = goes_along_edges(operation) ? 2 * bytes : bytes; /* v-forms along edges have longer ones */
  if (most * job.ranks <= INT_MAX) return 1;
  if (job.rank == 0)
    fprintf(stderr, "espalier_bench: %s of %ld bytes left out: %d blocks exceed 2 GiB\n", operation->name, bytes,
            job.ranks);
  return 0;
}

/* Sizes that become the same number of elements are measured once. */
static void measure_sizes(const struct operation* operation) {
  int has_size = operation->in != NOTHING || operation->out != NOTHING;
  long last = -1;
  for (int i = 0; i < (has_size ? options.size_count : 1); ++i) {
    long bytes = has_size ? whole_elements(operation, options.sizes[i]) : 0;
    if (bytes != last && has_form(operation) && is_countable(operation, bytes)) measure(operation, bytes);
    last = bytes;
  }
}

/* ---- command line ---------------------------------------------------------------------------------------------------
 */

static void add_operation(const struct operation* operation) {
  if (options.operation_count == MAX_OPERATIONS) fail("too many operations", "");
  options.operations[options.operation_count++] = operation;
}

static void parse_ops(char* text) {
  options.operation_count = 0;
  for (char* name = strtok(text, ","); name != NULL; name = strtok(NULL, ",")) {
    const int all = strcmp(name, "all") == 0;
    for (const struct operation* it = operations; all && it->name != NULL; ++it)
      if (!it->is_baseline && !goes_along_edges(it)) add_operation(it);
    if (!all && find_operation(name) == NULL) fail("unknown operation: ", name);
    if (!all) add_operation(find_operation(name));
  }
}

static void parse_sizes(char* text) {
  options.size_count = 0;
  for (char* size = strtok(text, ","); size != NULL; size = strtok(NULL, ",")) {
    char* end;
    long bytes = strtol(size, &end, 10);
    if (*end != '\0' || bytes < 1 || bytes > (1L << 30) || options.size_count == MAX_SIZES)
      fail("not a size in bytes: ", size);
    options.sizes[options.size_count++] = bytes;
  }
}

static void parse_type(const char* name) {
  if (!set_reduction_type(name)) fail("--type is double, int or float, not ", name);
}

static void parse_form(const char* name) {
  if (!set_form(name)) fail("--form is blocking, nonblocking, or, where MPI has it, persistent, not ", name);
}

/* Once they are all known. */
static void make_ready(void) {
  if (options.operation_count == 0) fail("--ops names no operation", "");
  for (int i = 0; i < options.operation_count; ++i)
    if (goes_along_edges(options.operations[i])) {
      if (!set_graph(options.graph, MPI_COMM_WORLD)) fail("--graph is grid, stencil or random:N, not ", options.graph);
      return;
    }
}

static void parse_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--cold") == 0) {
      options.cold = 1;
      continue;
    }
    if (strcmp(argv[i], "--barrier") == 0) {
      start_by_barrier();
      continue;
    }
    if (strcmp(argv[i], "--overlap") == 0) {
      options.overlap = 1;
      continue;
    }
    if (i + 1 == argc) fail("missing value after ", argv[i]);
    char* value = argv[++i];
    if (strcmp(argv[i - 1], "--ops") == 0)
      parse_ops(value);
    else if (strcmp(argv[i - 1], "--type") == 0)
      parse_type(value);
    else if (strcmp(argv[i - 1], "--sizes") == 0)
      parse_sizes(value);
    else if (strcmp(argv[i - 1], "--form") == 0)
      parse_form(value);
    else if (strcmp(argv[i - 1], "--graph") == 0)
      options.graph = value;
    else if (strcmp(argv[i - 1], "--test-us") == 0)
      options.test_us = atof(value);
    else if (strcmp(argv[i - 1], "--rounds") == 0)
      options.rounds = atoi(value);
    else if (strcmp(argv[i - 1], "--budget-ms") == 0)
      options.budget_us = atof(value) * 1e3;
    else
      fail("unknown option ", argv[i - 1]);
  }
  if (options.rounds < 1 || options.budget_us <= 0) fail("--rounds and --budget-ms must be positive", "");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  learn_job("espalier_bench");
  set_reduction_type("double");
  parse_arguments(argc, argv);
  make_ready();
  for (int i = 0; i < options.operation_count; ++i) measure_sizes(options.operations[i]);
  MPI_Finalize();
  return 0;
}
