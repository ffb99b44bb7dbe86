/* The measuring half of `espalier tune`: one job that measures what it is told, command by command.
 *
 *   espalier_tune_<abi>       (started by `espalier tune` under mpiexec, with Espalier preloaded)
 *
 * Rank 0 reads lines from standard input and answers each with one line of JSON on standard output:
 *
 *   measure OP BYTES ROUNDS BATCH_US COLD ARM;ARM;...   an arm is "native", "auto" or a selection (measure.c)
 *   curve NAME                                          a property of the machine (curves.c)
 *   look                                                how far apart the first two ranks are, and what others do
 *   quit                                                as does the end of the input
 *
 * Its first line says where the job runs. */

#include "worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text)
    if (*text == '\n' || (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\'))
      printf(*text == '\n' ? "\\n" : "%c", *text);
  putchar('"');
}

static void introduce(void) {
  static char version[1 << 15]; /* some MPIs write more than their MPI_MAX_LIBRARY_VERSION_STRING */
  char transport[16] = "";
  int length;
  PMPI_Get_library_version(version, &length);
  MPI_Barrier(MPI_COMM_WORLD); /* by now it is known what the job's messages go by */
  Espalier_Transport(MPI_COMM_WORLD, transport, sizeof(transport));
  if (job.rank != 0) return;
  printf("{\"hello\": 1, \"ranks\": %d, \"cores\": %d, \"node_cores\": %d, \"node_of\": [", job.ranks, job.cores,
         job.node_cores);
  for (int r = 0; r < job.ranks; ++r) printf("%s%d", r > 0 ? ", " : "", job.node_of[r]);
  printf("], \"transport\": \"%s\", \"library\": ", transport);
  print_text(version);
  printf("}\n");
  fflush(stdout);
}

/* Between commands ranks sleep, so that the tuner does not think on a processor that it shares with all of them: 16
 * ranks that yield on two processors leave it an eighth of one. */
static void doze_until(MPI_Request* request) {
  const struct timespec a_while = {.tv_nsec = 200000};
  int is_here = 0;
  for (PMPI_Test(request, &is_here, MPI_STATUS_IGNORE); !is_here; PMPI_Test(request, &is_here, MPI_STATUS_IGNORE))
    nanosleep(&a_while, NULL);
}

/* The next command on all ranks; false at the end. */
static int next_command(char line[MOST_TEXT]) {
  MPI_Request request;
  line[0] = '\0';
  if (job.rank == 0 && fgets(line, MOST_TEXT, stdin) == NULL) strcpy(line, "quit");
  line[strcspn(line, "\n")] = '\0';
  PMPI_Ibcast(line, MOST_TEXT, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  doze_until(&request);
  return strcmp(line, "quit") != 0;
}

int main(int argc, char** argv) {
  static char line[MOST_TEXT];
  MPI_Init(&argc, &argv);
  learn_job("espalier_tune");
  set_reduction_type("double");
  introduce();
  while (next_command(line))
    if (strncmp(line, "measure ", 8) == 0)
      measure(line + 8);
    else if (strncmp(line, "curve ", 6) == 0)
      draw_curve(line + 6);
    else if (strcmp(line, "look") == 0)
      look();
    else
      fail("unknown command: ", line);
  MPI_Finalize();
  return 0;
}
