/* The measuring half of `espalier tune`: one job that measures what it is told, command by command.
 *
 *   espalier_tune_<abi>       (started by `espalier tune` under mpiexec, with Espalier preloaded)
 *
 * Rank 0 reads lines from standard input and answers each with one line of JSON on standard output:
 *
 *   measure OP BYTES ROUNDS BATCH_US COLD ARM;ARM;...   an arm is "native", "auto" or a selection (measure.c)
 *   curve NAME                                          a property of the machine (curves.c)
 *   quit                                                as does the end of the input
 *
 * Its first line says where the job runs. */

#include "worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job job;

void fail(const char* what, const char* detail) {
  if (job.rank == 0) fprintf(stderr, "espalier_tune: %s%s\n", what, detail);
  PMPI_Abort(MPI_COMM_WORLD, 2);
  abort();
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

void wait_for(MPI_Request* request) {
  int is_here = 0;
  for (PMPI_Test(request, &is_here, MPI_STATUS_IGNORE); !is_here; PMPI_Test(request, &is_here, MPI_STATUS_IGNORE))
    if (job.ranks > job.cores) sched_yield();
}

void meet(void) {
  MPI_Request request;
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_for(&request);
}

/* Cores that the ranks of this rank's host may use together, counted once per host. */
static int count_cores(MPI_Comm host) {
  cpu_set_t mine, all;
  int position;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof(mine), &mine);
  PMPI_Allreduce(&mine, &all, (int)sizeof(mine), MPI_BYTE, MPI_BOR, host);
  PMPI_Comm_rank(host, &position);
  return position == 0 ? CPU_COUNT(&all) : 0;
}

static void learn_job(void) {
  MPI_Comm host;
  int first;
  PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &host);
  PMPI_Allreduce(&job.rank, &first, 1, MPI_INT, MPI_MIN, host);
  int* firsts = allocate((size_t)job.ranks * sizeof(int));
  job.host_of = allocate((size_t)job.ranks * sizeof(int));
  PMPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < job.ranks; ++r) job.host_of[r] = firsts[r] == r ? job.hosts++ : job.host_of[firsts[r]];
  int cores = count_cores(host);
  PMPI_Allreduce(&cores, &job.cores, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Comm_free(&host);
  free(firsts);
}

void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text)
    if (*text == '\n' || (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\'))
      printf(*text == '\n' ? "\\n" : "%c", *text);
  putchar('"');
}

static void introduce(void) {
  static char version[1 << 15]; /* some MPIs write more than their MPI_MAX_LIBRARY_VERSION_STRING */
  int length;
  PMPI_Get_library_version(version, &length);
  if (job.rank != 0) return;
  printf("{\"hello\": 1, \"ranks\": %d, \"cores\": %d, \"host_of\": [", job.ranks, job.cores);
  for (int r = 0; r < job.ranks; ++r) printf("%s%d", r > 0 ? ", " : "", job.host_of[r]);
  printf("], \"library\": ");
  print_text(version);
  printf("}\n");
  fflush(stdout);
}

/* The next command on all ranks; false at the end. */
static int next_command(char line[MOST_TEXT]) {
  MPI_Request request;
  line[0] = '\0';
  if (job.rank == 0 && fgets(line, MOST_TEXT, stdin) == NULL) strcpy(line, "quit");
  line[strcspn(line, "\n")] = '\0';
  PMPI_Ibcast(line, MOST_TEXT, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  wait_for(&request);
  return strcmp(line, "quit") != 0;
}

int main(int argc, char** argv) {
  static char line[MOST_TEXT];
  MPI_Init(&argc, &argv);
  learn_job();
  introduce();
  while (next_command(line))
    if (strncmp(line, "measure ", 8) == 0)
      measure(line + 8);
    else if (strncmp(line, "curve ", 6) == 0)
      draw_curve(line + 6);
    else
      fail("unknown command: ", line);
  MPI_Finalize();
  return 0;
}
