/* How a short job begins: what a broadcast of 4 bytes takes in the first 100 ms.
 *
 *   bench_beginnings_<abi> [--ms 100] [--together]
 *
 * Ranks take turns as root, so that each waits for the others; the times of a round in which each has been root once,
 * divided by the ranks, are those of a call. Prints on rank 0 one JSON object, in microseconds: the first call, which
 * sets up; then, over all and over the first 20 ms, median and 99th percentile; the longest; and `settled_ms`, when for
 * the first time a hundred rounds in a row took less than 10 us a call (the whole time where that never came).
 *
 * --together puts all ranks on one core before MPI starts and takes that back before the first timed call: where
 * a launcher that binds nothing leaves them now and then. Linked with no MPI; run by bench/beginnings.py.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 2000000, IN_A_ROW = 100 };
static float times[MOST_ROUNDS];
static const double slow_us = 10, early_us = 20e3;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

/* On the first processor that this rank may use; returns all of them. */
static cpu_set_t gather_on_one(void) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof(all), &all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      break;
    }
  sched_setaffinity(0, sizeof(one), &one);
  return all;
}

/* One call with each rank as root; the last call's word, rank 0's, says whether there is another round. */
static int play_round(int ranks, int word) {
  for (int root = ranks - 1; root >= 0; --root) {
    int data = word;
    MPI_Bcast(&data, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (root == 0) word = data;
  }
  return word;
}

static int play(int rank, int ranks, double limit_us, double* settled_us) {
  const double begin = now_us();
  int in_a_row = 0, round = 0;
  double last = begin;
  *settled_us = limit_us;
  for (int goes_on = 1; goes_on; ++round) {
    goes_on = play_round(ranks, rank == 0 ? last - begin < limit_us && round + 1 < MOST_ROUNDS : 1);
    const double end = now_us();
    times[round] = (float)((end - last) / ranks);
    in_a_row = times[round] < slow_us ? in_a_row + 1 : 0;
    if (in_a_row == IN_A_ROW && *settled_us == limit_us) *settled_us = end - begin;
    last = end;
  }
  return round;
}

static int count_early(int rounds, int ranks) {
  double sum = 0;
  int early = 0;
  while (early < rounds && sum < early_us) sum += times[early++] * ranks;
  return early;
}

static void print(int rounds, int ranks, double first_us, double settled_us) {
  const int early = count_early(rounds, ranks);
  qsort(times, (size_t)early, sizeof(float), ascending);
  const float early_median = times[early / 2], early_p99 = times[(int)(early * 0.99)];
  qsort(times, (size_t)rounds, sizeof(float), ascending);
  printf(
      "{\"first_us\": %.1f, \"rounds\": %d, \"median_us\": %.3f, \"p99_us\": %.3f, \"early_median_us\": %.3f, "
      "\"early_p99_us\": %.3f, \"longest_us\": %.1f, \"settled_ms\": %.2f}\n",
      first_us, rounds, times[rounds / 2], times[(int)(rounds * 0.99)], early_median, early_p99, times[rounds - 1],
      settled_us * 1e-3);
}

int main(int argc, char** argv) {
  double limit_us = 100e3, settled_us;
  int rank, ranks, is_together = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--together") == 0) is_together = 1;
    if (strcmp(argv[i], "--ms") == 0 && i + 1 < argc) limit_us = atof(argv[i + 1]) * 1e3;
  }
  cpu_set_t allowed;
  if (is_together) allowed = gather_on_one();
  memset(times, 0, sizeof(times)); /* so that no call pays for fresh memory */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Barrier(MPI_COMM_WORLD);
  /* The library looks at the first call whether there is a core for each. */
  if (is_together) sched_setaffinity(0, sizeof(allowed), &allowed);
  const double begin = now_us();
  play_round(ranks, 1);
  const double first_us = now_us() - begin;
  const int rounds = play(rank, ranks, limit_us, &settled_us);
  if (rank == 0) print(rounds, ranks, first_us, settled_us);
  MPI_Finalize();
  return 0;
}
