/* What both measuring workers (bench/collectives, bench/tune) know and need of their job. One process is one rank;
 * everything here is per process. */
#ifndef ESPALIER_BENCH_JOB_H
#define ESPALIER_BENCH_JOB_H

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stddef.h>

/* Facts of the job, equal on all ranks but for `rank` and the last two. */
struct job {
  int rank;
  int ranks;
  int nodes;      /* groups of ranks that share memory */
  int* node_of;   /* by rank, numbered by first appearance */
  int machines;   /* that have a kernel of their own: emulated nodes share one, and with it the cores and the clock */
  int cores;      /* that the ranks of all machines may use together */
  int node_cores; /* that the ranks of a node believe they have: the smallest number of all nodes */
  cpu_set_t processors; /* that the ranks of this machine may use */
  int leads_machine;    /* whether this rank is the first of its machine */
};
extern struct job job;

/* Fills `job`; all ranks together. `program` begins what fail() prints. */
void learn_job(const char* program);

/* Prints why and ends the whole job. */
_Noreturn void fail(const char* what, const char* detail);

/* Microseconds of a clock that all ranks of one machine share. */
double now_us(void);

/* Page aligned, at least one page, freed with free(); ends the job when there is none. */
void* allocate(size_t bytes);

/* Leaves nothing of other data in the first and second cache levels (Wu, Kendall, Aluru 2005, section 7). */
void purge_cache(void);

/* When calls were entered and left, as this rank saw them, becomes on rank 0 how long each took, in microseconds and
 * ascending; `took` is used on rank 0 only. Ranks of one machine read one clock: a call lasts from the last entry (with
 * more ranks than cores from the first: who has not been scheduled yet is part of the cost) to the last exit. Between
 * machines clocks differ and the longest stay counts. Overwrites `entry` and `exit`; all ranks together. */
void join_times(double* entry, double* exit, int calls, double* took);

#endif
