/* The measuring half of `espalier bench`: native and Espalier's collectives side by side in one job.
 *
 *   espalier_bench_<abi> --ops bcast,allreduce --sizes 4,1024,65536 --rounds 5 --budget-ms 40 [--type int] [--cold]
 *
 * A size is one rank's block (bcast: the message; reductions: the vector, rounded up to whole elements). Espalier must
 * be preloaded: its arm calls MPI_..., native calls PMPI_.... Prints on rank 0 one JSON object per operation, size and
 * round. Method (METHOD.md): in every round the arms take turns in small batches; each call is preceded by a native
 * barrier outside the time; a call lasts from the last entry (with more ranks than cores: the first) to the last exit;
 * buffers rotate; a third arm repeats native as a control. Before measuring, the data of both arms are checked. */

#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <espalier/espalier.h>

#include "operations.h"

enum { NATIVE, ESPALIER, CONTROL, ARMS };
enum { BATCH = 8, MAX_CALLS = 20000, MAX_SIZES = 64, MAX_OPERATIONS = 64 };

static struct {
  const struct operation* operations[MAX_OPERATIONS];
  int operation_count;
  long sizes[MAX_SIZES];
  int size_count;
  int rounds;
  double budget_us; /* for one operation, size and round, all arms together */
  int cold;
} options = {{NULL}, 0, {4, 64, 1024, 16384, 65536, 1048576}, 6, 5, 40e3, 0};

static int rank, ranks, nodes, machines, cores; /* cores: that the ranks of all machines may use together */

/* The inputs and outputs of one problem, to be used in turn. */
struct buffers {
  char *in, *out;
  long in_bytes, out_bytes; /* of one of them */
  int count;
};

/* Times of one arm's calls, as this rank saw them. */
struct samples {
  int count;
  double entry[MAX_CALLS];
  double exit[MAX_CALLS];
};

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void fail(const char* what, const char* detail) {
  if (rank == 0) fprintf(stderr, "espalier_bench: %s%s\n", what, detail);
  PMPI_Abort(MPI_COMM_WORLD, 2);
  exit(2); /* Some MPIs come back. */
}

static void run_arm(int arm, const struct problem* problem, const struct buffers* buffers, int turn) {
  int which = turn % buffers->count;
  run_call* call = arm == ESPALIER ? problem->operation->preloaded : problem->operation->native;
  call(problem, buffers->in + which * buffers->in_bytes, buffers->out + which * buffers->out_bytes);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------
 */

/* Four pairs of buffers, page aligned and touched; fewer when four would take more than a quarter of a GiB. */
static struct buffers make_buffers(const struct problem* problem) {
  enum { ROTATIONS = 4, SLACK = 64, LIMIT = 256 << 20 };
  struct buffers made = {NULL, NULL, extent_bytes(problem, problem->operation->in),
                         extent_bytes(problem, problem->operation->out), ROTATIONS};
  long larger = made.in_bytes > made.out_bytes ? made.in_bytes : made.out_bytes;
  while (made.count > 1 && made.count * larger > LIMIT) --made.count;
  size_t in_size = (size_t)(made.count * made.in_bytes + SLACK),
         out_size = (size_t)(made.count * made.out_bytes + SLACK);
  if (posix_memalign((void**)&made.in, 4096, in_size) || posix_memalign((void**)&made.out, 4096, out_size))
    fail("out of memory", "");
  memset(made.in, rank + 1, in_size);
  memset(made.out, rank + 1, out_size);
  return made;
}

/* Leaves nothing of the buffers in the first and second cache levels (Wu, Kendall, Aluru, section 7). */
static void purge_cache(void) {
  static char* sweep;
  enum { SWEEP = 16 << 20 };
  if (sweep == NULL && (sweep = malloc(SWEEP)) == NULL) fail("out of memory", "");
  memset(sweep, 1, SWEEP);
}

/* Both arms must deliver the right data before their times mean anything. */
static void check_data(const struct problem* problem, const struct buffers* buffers) {
  for (int arm = NATIVE; arm <= ESPALIER; ++arm) {
    fill_input(problem, buffers->in, buffers->out);
    run_arm(arm, problem, buffers, 0);
    int wrong = problem->operation->is_wrong(problem, buffers->out), any_wrong = 0;
    PMPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any_wrong)
      fail(arm == NATIVE ? "native delivered wrong data: " : "Espalier delivered wrong data: ",
           problem->operation->name);
  }
}

/* ---- one round ------------------------------------------------------------------------------------------------------
 */

static void time_call(int arm, const struct problem* problem, const struct buffers* buffers, int turn,
                      struct samples* samples) {
  if (options.cold) purge_cache();
  PMPI_Barrier(MPI_COMM_WORLD);
  samples->entry[samples->count] = now_us();
  run_arm(arm, problem, buffers, turn);
  samples->exit[samples->count++] = now_us();
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Turns the ranks' times into calls' durations; rank 0 gets their median and tenth percentile. Clocks of several
 * machines differ; there the longest stay counts. */
static void reduce_samples(const struct samples* samples, double* p50, double* p10) {
  static double entry[MAX_CALLS], last[MAX_CALLS];
  MPI_Op which = ranks <= cores ? MPI_MAX : MPI_MIN;
  for (int i = 0; i < samples->count; ++i) {
    entry[i] = machines == 1 ? samples->entry[i] : 0;
    last[i] = machines == 1 ? samples->exit[i] : samples->exit[i] - samples->entry[i];
  }
  PMPI_Reduce(rank == 0 ? MPI_IN_PLACE : entry, entry, samples->count, MPI_DOUBLE, which, 0, MPI_COMM_WORLD);
  PMPI_Reduce(rank == 0 ? MPI_IN_PLACE : last, last, samples->count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int i = 0; i < samples->count; ++i) last[i] -= entry[i];
  qsort(last, (size_t)samples->count, sizeof(double), ascending);
  *p50 = last[samples->count / 2];
  *p10 = last[samples->count / 10];
}

/* BATCH calls of one arm, after one that is not timed: it takes the blame for what the arm before left in the caches.
 */
static void run_batch(int arm, const struct problem* problem, const struct buffers* buffers, struct samples* samples) {
  static int turn;
  run_arm(arm, problem, buffers, turn);
  for (int i = 0; i < BATCH; ++i) time_call(arm, problem, buffers, ++turn, samples);
}

/* Batches of each arm in turn until the budget is spent; rank 0 says when, so that all ranks make the same calls. */
static void run_round(const struct problem* problem, const struct buffers* buffers, struct samples samples[ARMS]) {
  double begin = now_us();
  int go_on = 1;
  for (int arm = 0; arm < ARMS; ++arm) samples[arm].count = 0;
  while (go_on) {
    for (int arm = 0; arm < ARMS; ++arm) run_batch(arm, problem, buffers, &samples[arm]);
    go_on = now_us() - begin < options.budget_us && samples[0].count + BATCH <= MAX_CALLS;
    PMPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

static void print_round(const struct problem* problem, int round, int calls, const double p50[ARMS],
                        const double p10[ARMS]) {
  char choice[256];
  if (Espalier_Describe(problem->operation->described, problem->bytes, 0, MPI_COMM_WORLD, choice, sizeof(choice)) !=
      MPI_SUCCESS)
    snprintf(choice, sizeof(choice), "unknown");
  printf(
      "{\"op\": \"%s\", \"bytes\": %ld, \"round\": %d, \"ranks\": %d, \"nodes\": %d, \"calls\": %d, "
      "\"native_p50_us\": %.3f, \"espalier_p50_us\": %.3f, \"control_p50_us\": %.3f, "
      "\"native_p10_us\": %.3f, \"espalier_p10_us\": %.3f, \"choice\": \"%s\"}\n",
      problem->operation->name, problem->bytes, round, ranks, nodes, calls, p50[NATIVE], p50[ESPALIER], p50[CONTROL],
      p10[NATIVE], p10[ESPALIER], choice);
  fflush(stdout);
}

static void measure(const struct operation* operation, long bytes) {
  static struct samples samples[ARMS];
  struct problem problem;
  if (!make_problem(operation, bytes, &problem)) fail("out of memory", "");
  struct buffers buffers = make_buffers(&problem);
  check_data(&problem, &buffers);
  for (int round = 0; round < options.rounds; ++round) {
    double p50[ARMS] = {0}, p10[ARMS] = {0};
    run_round(&problem, &buffers, samples);
    for (int arm = 0; arm < ARMS; ++arm) reduce_samples(&samples[arm], &p50[arm], &p10[arm]);
    if (rank == 0) print_round(&problem, round, samples[0].count, p50, p10);
  }
  free(buffers.in);
  free(buffers.out);
  release_problem(&problem);
}

/* Whether MPI's int counts and displacements can say where all blocks lie. */
static int is_countable(const struct operation* operation, long bytes) {
  if (operation->in != ALL_BLOCKS && operation->out != ALL_BLOCKS) return 1;
  if (bytes * ranks <= INT_MAX) return 1;
  if (rank == 0)
    fprintf(stderr, "espalier_bench: %s of %ld bytes left out: %d blocks exceed 2 GiB\n", operation->name, bytes,
            ranks);
  return 0;
}

/* Sizes that become the same number of elements are measured once. */
static void measure_sizes(const struct operation* operation) {
  int has_size = operation->in != NOTHING || operation->out != NOTHING;
  long last = -1;
  for (int i = 0; i < (has_size ? options.size_count : 1); ++i) {
    long bytes = has_size ? whole_elements(operation, options.sizes[i]) : 0;
    if (bytes != last && is_countable(operation, bytes)) measure(operation, bytes);
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
    int known = 0, all = strcmp(name, "all") == 0;
    for (const struct operation* it = operations; it->name != NULL; ++it)
      if (all ? !it->is_baseline : strcmp(name, it->name) == 0) add_operation(it), known = 1;
    if (!known) fail("unknown operation: ", name);
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

static void parse_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--cold") == 0) {
      options.cold = 1;
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
    else if (strcmp(argv[i - 1], "--rounds") == 0)
      options.rounds = atoi(value);
    else if (strcmp(argv[i - 1], "--budget-ms") == 0)
      options.budget_us = atof(value) * 1e3;
    else
      fail("unknown option ", argv[i - 1]);
  }
  if (options.rounds < 1 || options.budget_us <= 0) fail("--rounds and --budget-ms must be positive", "");
}

/* Which kernel this rank runs under: emulated nodes share one, and with it the cores and the clock. */
static int kernel_number(void) {
  char id[64] = "";
  unsigned number = 5381;
  FILE* file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file != NULL) {
    if (fgets(id, sizeof(id), file) == NULL) id[0] = '\0';
    fclose(file);
  }
  for (const char* c = id; *c != '\0'; ++c) number = number * 33 + (unsigned char)*c;
  return (int)(number & 0x7fffffff);
}

/* Sums up what the first ranks of all groups say. */
static int sum_of_leaders(MPI_Comm group, int value) {
  int position, sum;
  PMPI_Comm_rank(group, &position);
  if (position > 0) value = 0;
  PMPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void learn_machine(void) {
  MPI_Comm node, machine;
  cpu_set_t mine, all;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  PMPI_Comm_split(MPI_COMM_WORLD, kernel_number(), 0, &machine);
  sched_getaffinity(0, sizeof(mine), &mine);
  PMPI_Allreduce(&mine, &all, (int)sizeof(mine), MPI_BYTE, MPI_BOR, machine);
  nodes = sum_of_leaders(node, 1);
  machines = sum_of_leaders(machine, 1);
  cores = sum_of_leaders(machine, CPU_COUNT(&all));
  PMPI_Comm_free(&node);
  PMPI_Comm_free(&machine);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  set_reduction_type("double");
  parse_arguments(argc, argv);
  if (options.operation_count == 0) fail("--ops names no operation", "");
  learn_machine();
  for (int i = 0; i < options.operation_count; ++i) measure_sizes(options.operations[i]);
  MPI_Finalize();
  return 0;
}
