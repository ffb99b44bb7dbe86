/* The measuring half of `espalier bench`: native and Espalier's collectives side by side in one job.
 *
 *   espalier_bench_<abi> --ops bcast,allgather,barrier --sizes 4,1024,65536 --rounds 5 --budget-ms 40 [--cold]
 *
 * Prints on rank 0 one JSON object per operation, size and round. Method (METHOD.md): in every round the arms take
 * turns in small batches; each call is preceded by a native barrier outside the time; one clock for all ranks; a call
 * lasts from the last entry (with more ranks than cores: the first) to the last exit; buffers rotate; a third arm
 * repeats native as a control. Before measuring, the data of both arms are compared. */

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <espalier/espalier.h>

enum { NATIVE, ESPALIER, CONTROL, ARMS };
enum { BCAST, ALLGATHER, BARRIER, OPERATIONS };
enum { ROTATIONS = 4, BATCH = 8, MAX_CALLS = 20000, MAX_SIZES = 64 };

static const char* const operation_names[OPERATIONS] = {"bcast", "allgather", "barrier"};

static struct {
  int wanted[OPERATIONS];
  long sizes[MAX_SIZES];
  int size_count;
  int rounds;
  double budget_us; /* for one operation, size and round, all arms together */
  int cold;
} options = {{1, 1, 1}, {4, 64, 1024, 16384, 65536, 1048576}, 6, 5, 40e3, 0};

static int rank, ranks, nodes, cores;

struct call {
  int operation;
  long bytes;
  char* in;
  char* out;
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
}

/* ---- the calls ------------------------------------------------------------------------------------------------------
 */

static void run_native(const struct call* c) {
  int n = (int)c->bytes;
  if (c->operation == BCAST)
    PMPI_Bcast(c->out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
  else if (c->operation == ALLGATHER)
    PMPI_Allgather(c->in, n, MPI_BYTE, c->out, n, MPI_BYTE, MPI_COMM_WORLD);
  else
    PMPI_Barrier(MPI_COMM_WORLD);
}

static void run_espalier(const struct call* c) {
  int n = (int)c->bytes;
  if (c->operation == BCAST)
    Espalier_Bcast(c->out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
  else if (c->operation == ALLGATHER)
    Espalier_Allgather(c->in, n, MPI_BYTE, c->out, n, MPI_BYTE, MPI_COMM_WORLD);
  else
    Espalier_Barrier(MPI_COMM_WORLD);
}

static void run_arm(int arm, const struct call* c) { arm == ESPALIER ? run_espalier(c) : run_native(c); }

/* ---- memory ---------------------------------------------------------------------------------------------------------
 */

static long out_bytes(int operation, long bytes) { return operation == ALLGATHER ? bytes * ranks : bytes; }

/* ROTATIONS pairs of buffers, page aligned and touched. */
static void make_buffers(int operation, long bytes, char** in, char** out) {
  size_t in_size = (size_t)ROTATIONS * (size_t)(bytes + 64),
         out_size = (size_t)ROTATIONS * (size_t)(out_bytes(operation, bytes) + 64);
  if (posix_memalign((void**)in, 4096, in_size) || posix_memalign((void**)out, 4096, out_size))
    fail("out of memory", "");
  memset(*in, rank + 1, in_size);
  memset(*out, rank + 1, out_size);
}

static struct call rotated(int operation, long bytes, char* in, char* out, int turn) {
  struct call c = {operation, bytes, in + (turn % ROTATIONS) * bytes,
                   out + (turn % ROTATIONS) * out_bytes(operation, bytes)};
  return c;
}

/* Leaves nothing of the buffers in the first and second cache levels (Wu, Kendall, Aluru, section 7). */
static void purge_cache(void) {
  static char* sweep;
  enum { SWEEP = 16 << 20 };
  if (sweep == NULL && (sweep = malloc(SWEEP)) == NULL) fail("out of memory", "");
  memset(sweep, 1, SWEEP);
}

/* Both arms must deliver the same bytes before their times mean anything. */
static void check_data(int operation, long bytes, char* in, char* out) {
  int wrong = 0, any_wrong = 0;
  for (long i = 0; i < bytes; ++i) in[i] = (char)(i * 7 + rank * 13 + i / 255);
  for (int arm = NATIVE; arm <= ESPALIER; ++arm) {
    struct call c = {operation, bytes, in, out};
    for (long i = 0; i < bytes; ++i) out[i] = rank == 0 ? in[i] : 0;
    run_arm(arm, &c);
    for (long i = 0; i < out_bytes(operation, bytes); ++i) {
      long from = operation == ALLGATHER ? i / bytes : 0, at = operation == ALLGATHER ? i % bytes : i;
      wrong |= out[i] != (char)(at * 7 + from * 13 + at / 255);
    }
    PMPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any_wrong)
      fail(arm == NATIVE ? "native delivered wrong data: " : "Espalier delivered wrong data: ",
           operation_names[operation]);
  }
}

/* ---- one round ------------------------------------------------------------------------------------------------------
 */

static void time_call(int arm, const struct call* c, struct samples* samples) {
  if (options.cold) purge_cache();
  PMPI_Barrier(MPI_COMM_WORLD);
  samples->entry[samples->count] = now_us();
  run_arm(arm, c);
  samples->exit[samples->count++] = now_us();
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Turns the ranks' times into calls' durations; rank 0 gets their median and tenth percentile. */
static void reduce_samples(const struct samples* samples, double* p50, double* p10) {
  static double entry[MAX_CALLS], last[MAX_CALLS];
  PMPI_Reduce(samples->entry, entry, samples->count, MPI_DOUBLE, ranks <= cores ? MPI_MAX : MPI_MIN, 0, MPI_COMM_WORLD);
  PMPI_Reduce(samples->exit, last, samples->count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int i = 0; i < samples->count; ++i) last[i] -= entry[i];
  qsort(last, (size_t)samples->count, sizeof(double), ascending);
  *p50 = last[samples->count / 2];
  *p10 = last[samples->count / 10];
}

/* BATCH calls of one arm, after one that is not timed: it takes the blame for what the arm before left in the caches.
 */
static void run_batch(int arm, int operation, long bytes, char* in, char* out, struct samples* samples) {
  static int turn;
  struct call warm = rotated(operation, bytes, in, out, turn);
  run_arm(arm, &warm);
  for (int i = 0; i < BATCH; ++i) {
    struct call c = rotated(operation, bytes, in, out, ++turn);
    time_call(arm, &c, samples);
  }
}

/* Batches of each arm in turn until the budget is spent; rank 0 says when, so that all ranks make the same calls. */
static void run_round(int operation, long bytes, char* in, char* out, struct samples samples[ARMS]) {
  double begin = now_us();
  int go_on = 1;
  for (int arm = 0; arm < ARMS; ++arm) samples[arm].count = 0;
  while (go_on) {
    for (int arm = 0; arm < ARMS; ++arm) run_batch(arm, operation, bytes, in, out, &samples[arm]);
    go_on = now_us() - begin < options.budget_us && samples[0].count + BATCH <= MAX_CALLS;
    PMPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

static void describe(int operation, long bytes, char* text, int length) {
  if (Espalier_Describe(operation_names[operation], bytes, 0, MPI_COMM_WORLD, text, length) != MPI_SUCCESS)
    snprintf(text, (size_t)length, "unknown");
}

static void measure(int operation, long bytes) {
  static struct samples samples[ARMS];
  char *in, *out, choice[256];
  make_buffers(operation, bytes, &in, &out);
  check_data(operation, bytes, in, out);
  for (int round = 0; round < options.rounds; ++round) {
    double p50[ARMS] = {0}, p10[ARMS] = {0};
    run_round(operation, bytes, in, out, samples);
    for (int arm = 0; arm < ARMS; ++arm) reduce_samples(&samples[arm], &p50[arm], &p10[arm]);
    describe(operation, bytes, choice, sizeof(choice));
    if (rank == 0)
      printf(
          "{\"op\": \"%s\", \"bytes\": %ld, \"round\": %d, \"ranks\": %d, \"nodes\": %d, \"calls\": %d, "
          "\"native_p50_us\": %.3f, "
          "\"espalier_p50_us\": %.3f, \"control_p50_us\": %.3f, \"native_p10_us\": %.3f, \"espalier_p10_us\": %.3f, "
          "\"choice\": \"%s\"}\n",
          operation_names[operation], bytes, round, ranks, nodes, samples[0].count, p50[NATIVE], p50[ESPALIER],
          p50[CONTROL], p10[NATIVE], p10[ESPALIER], choice);
    fflush(stdout);
  }
  free(in);
  free(out);
}

/* ---- command line ---------------------------------------------------------------------------------------------------
 */

static void parse_ops(char* text) {
  memset(options.wanted, 0, sizeof(options.wanted));
  for (char* op = strtok(text, ","); op != NULL; op = strtok(NULL, ",")) {
    int known = 0;
    for (int i = 0; i < OPERATIONS; ++i)
      if (strcmp(op, operation_names[i]) == 0) options.wanted[i] = known = 1;
    if (!known) fail("unknown operation (bcast, allgather, barrier): ", op);
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

/* Cores that this machine's ranks may use together; machines of real nodes are counted by their shared-memory groups.
 */
static void learn_machine(void) {
  MPI_Comm node;
  int leads, position;
  cpu_set_t set;
  unsigned long mask = 0, all = 0;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &position);
  leads = position == 0;
  PMPI_Allreduce(&leads, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sched_getaffinity(0, sizeof(set), &set);
  for (int core = 0; core < 64; ++core) mask |= CPU_ISSET(core, &set) ? 1UL << core : 0;
  PMPI_Allreduce(&mask, &all, 1, MPI_UNSIGNED_LONG, MPI_BOR, node);
  cores = __builtin_popcountl(all) * nodes;
  PMPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  parse_arguments(argc, argv);
  learn_machine();
  for (int operation = 0; operation < OPERATIONS; ++operation)
    for (int i = 0; options.wanted[operation] && i < (operation == BARRIER ? 1 : options.size_count); ++i)
      measure(operation, operation == BARRIER ? 0 : options.sizes[i]);
  MPI_Finalize();
  return 0;
}
