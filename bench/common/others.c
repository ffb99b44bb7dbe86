#include "others.h"

#include "job.h" /* before the system's: it asks for what is GNU's */

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Microseconds: what the clock shows, and how long this rank has run. How long each processor has idled, in ticks. */
struct reading {
  double clock, own;
  int tells; /* whether the kernel does */
  long idle[CPU_SETSIZE];
};

static struct reading begin, end;

/* Of the processors that ranks of this machine may use. */
static void read_idle(struct reading* it) {
  char line[512];
  int count = 0;
  FILE* file = fopen("/proc/stat", "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    int cpu;
    long idle, io; /* waiting for a disk is idling */
    if (sscanf(line, "cpu%d %*d %*d %*d %ld %ld", &cpu, &idle, &io) != 3 || cpu < 0 || cpu >= CPU_SETSIZE) continue;
    it->idle[cpu] = idle + io;
    if (CPU_ISSET(cpu, &job.processors)) ++count;
  }
  if (file != NULL) fclose(file);
  it->tells = count == CPU_COUNT(&job.processors);
}

static double own_us(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Ranks that are here already take time, too, while they wait for the others: so all read when all are here. */
static void read_all(struct reading* it) {
  PMPI_Barrier(MPI_COMM_WORLD);
  it->own = own_us();
  if (job.leads_machine) read_idle(it);
  it->clock = now_us();
}

/* How long this machine's processors have not idled in between, in microseconds. */
static double busy_us(void) {
  const double tick_us = 1e6 / (double)sysconf(_SC_CLK_TCK);
  double busy = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &job.processors)) continue;
    const long ticks = end.idle[cpu] - begin.idle[cpu];
    busy += end.clock - begin.clock - (double)(ticks > 0 ? ticks + 1 : 0) * tick_us;
  }
  return busy;
}

void watch_others(void) { read_all(&begin); }

double others_since_watch(void) {
  read_all(&end);
  const int is_silent = job.leads_machine && !(begin.tells && end.tells);
  double mine[3] = {begin.own - end.own, end.clock - begin.clock, is_silent}, all[3];
  if (job.leads_machine) mine[0] += busy_us();
  PMPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all[2] > 0 || all[0] < 0 ? 0 : all[0] * job.ranks / all[1];
}

int is_disturbed(double others) {
  if (job.nodes > 1) return 0;
  if (job.ranks > job.cores) return others >= 0.4 * job.cores / (job.ranks + 1);
  return others - (job.cores - job.ranks) >= 0.25;
}
