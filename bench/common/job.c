#include "job.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job job;
static const char* program;

void fail(const char* what, const char* detail) {
  if (job.rank == 0) fprintf(stderr, "%s: %s%s\n", program, what, detail);
  PMPI_Abort(MPI_COMM_WORLD, 2);
  exit(2); /* some MPIs come back */
}

double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void* allocate(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes + 4096) != 0) fail("out of memory", "");
  return memory;
}

void purge_cache(void) {
  enum { SWEEP = 16 << 20 };
  static char* sweep;
  if (sweep == NULL) sweep = allocate(SWEEP);
  memset(sweep, 1, SWEEP);
}

/* ---- where the ranks are --------------------------------------------------------------------------------------------
 */

/* Which kernel this rank runs under. */
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

/* Cores that the ranks of `group` may use together. */
static cpu_set_t find_cores(MPI_Comm group) {
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof(mine), &mine);
  PMPI_Allreduce(&mine, &all, (int)sizeof(mine), MPI_BYTE, MPI_BOR, group);
  return all;
}

static int is_first(MPI_Comm group) {
  int position;
  PMPI_Comm_rank(group, &position);
  return position == 0;
}

/* Sums up what the first ranks of all machines say. */
static int sum_of_leaders(int value) {
  int sum;
  if (!job.leads_machine) value = 0;
  PMPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* Nodes by their lowest rank, renumbered as they appear. */
static void number_nodes(MPI_Comm node) {
  int first, *firsts = allocate((size_t)job.ranks * sizeof(int));
  PMPI_Allreduce(&job.rank, &first, 1, MPI_INT, MPI_MIN, node);
  PMPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, MPI_COMM_WORLD);
  job.node_of = allocate((size_t)job.ranks * sizeof(int));
  for (int r = 0; r < job.ranks; ++r) job.node_of[r] = firsts[r] == r ? job.nodes++ : job.node_of[firsts[r]];
  free(firsts);
}

void learn_job(const char* name) {
  MPI_Comm node, machine;
  program = name;
  PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &node);
  PMPI_Comm_split(MPI_COMM_WORLD, kernel_number(), job.rank, &machine);
  number_nodes(node);
  job.leads_machine = is_first(machine);
  job.processors = find_cores(machine);
  job.machines = sum_of_leaders(1);
  job.cores = sum_of_leaders(CPU_COUNT(&job.processors));
  const cpu_set_t cores = find_cores(node);
  int node_cores = CPU_COUNT(&cores);
  PMPI_Allreduce(&node_cores, &job.node_cores, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  PMPI_Comm_free(&node);
  PMPI_Comm_free(&machine);
}

/* ---- times ----------------------------------------------------------------------------------------------------------
 */

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

void join_times(double* entry, double* exit, int calls, double* took) {
  const MPI_Op first = job.ranks <= job.cores ? MPI_MAX : MPI_MIN;
  if (job.machines > 1)
    for (int i = 0; i < calls; ++i) exit[i] -= entry[i], entry[i] = 0;
  PMPI_Reduce(exit, took, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  PMPI_Reduce(entry, exit, calls, MPI_DOUBLE, first, 0, MPI_COMM_WORLD);
  if (job.rank != 0) return;
  for (int i = 0; i < calls; ++i) took[i] -= exit[i];
  qsort(took, (size_t)calls, sizeof(double), ascending);
}
