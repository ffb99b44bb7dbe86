#include "lines.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "others.h"

enum { TRIPS = 200, REPEATS = 5 };

/* From the moment that is named to the moment itself: a few times what the name takes to come round. */
static const double notice_us = 1;

/* Written by one rank, read by others. */
struct line {
  _Alignas(64) atomic_uint turn; /* counts what its rank has done, and is never reset */
  _Atomic double moment;         /* of rank 0 only: when to start */
};

static struct line** lines; /* by rank */
static unsigned turn;       /* of this rank */
static int is_by_barrier;

void start_by_barrier(void) { is_by_barrier = 1; }

static int may_have_lines(void) {
  return job.machines == 1 && job.nodes == 1 && job.ranks > 1 && job.ranks <= job.cores;
}

/* Where rank `r` has its line in this process's view of the window. */
static struct line* line_of(MPI_Win window, int r) {
  MPI_Aint bytes;
  int unit;
  char* base = NULL;
  PMPI_Win_shared_query(window, r, &bytes, &unit, &base);
  return (struct line*)(base + 63 - ((size_t)base + 63) % 64);
}

/* Memory that all ranks of `node` share; whether every rank has got it. An MPI may be unable to (no room in /dev/shm, a
 * container): that is no reason to end. */
static int share(MPI_Comm node, MPI_Win* window) {
  void* base;
  int is_here, are_here;
  PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  is_here = PMPI_Win_allocate_shared(2 * sizeof(struct line), 1, MPI_INFO_NULL, node, &base, window) == MPI_SUCCESS;
  PMPI_Allreduce(&is_here, &are_here, 1, MPI_INT, MPI_MIN, node);
  return are_here;
}

/* The window stays until the job ends. Where there is none, calls begin after a barrier from now on. */
static void make_lines(void) {
  MPI_Comm node;
  MPI_Win window;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &node);
  if (!share(node, &window)) {
    if (job.rank == 0) fprintf(stderr, "no memory to share for MPI_Win_allocate_shared: calls begin after a barrier\n");
    start_by_barrier();
    return;
  }
  lines = allocate((size_t)job.ranks * sizeof(*lines));
  for (int r = 0; r < job.ranks; ++r) lines[r] = line_of(window, r);
  atomic_store(&lines[job.rank]->turn, 0);
  PMPI_Barrier(MPI_COMM_WORLD);
}

/* Whether ranks have lines, which the first to ask makes. */
static int has_lines(void) {
  static int is_tried;
  if (!is_tried && may_have_lines()) make_lines();
  is_tried = 1;
  return lines != NULL;
}

/* Waits until rank `r` has come to this rank's turn, or beyond. Who waits for long moves MPI on: the other may need
 * that to leave the collective before. */
static void wait_for_rank(int r) {
  enum { LOOKS_PER_POKE = 4096 };
  int is_here;
  for (unsigned look = 1; (int)(atomic_load_explicit(&lines[r]->turn, memory_order_acquire) - turn) < 0; ++look)
    if (look % LOOKS_PER_POKE == 0)
      PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_here, MPI_STATUS_IGNORE);
}

static void say_turn(void) { atomic_store_explicit(&lines[job.rank]->turn, turn, memory_order_release); }

void start_together(void) {
  if (is_by_barrier || !has_lines()) {
    PMPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  ++turn;
  if (job.rank == 0) {
    for (int r = 1; r < job.ranks; ++r) wait_for_rank(r);
    atomic_store_explicit(&lines[0]->moment, now_us() + notice_us, memory_order_relaxed);
    say_turn();
  } else {
    say_turn();
    wait_for_rank(0);
  }
  const double moment = atomic_load_explicit(&lines[0]->moment, memory_order_relaxed);
  while (now_us() < moment)
    ;
}

/* Nanoseconds of one round trip, the mean of TRIPS. Ranks above 1 count along. */
static double play(void) {
  const double begin = now_us();
  for (int i = 0; i < TRIPS; ++i) {
    ++turn;
    if (job.rank == 1) wait_for_rank(0);
    say_turn();
    if (job.rank == 0) wait_for_rank(1);
  }
  return (now_us() - begin) * 1e3 / TRIPS;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double measure_line_ns(void) {
  double took[REPEATS];
  if (!has_lines()) return 0;
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < REPEATS; ++i) took[i] = play();
  qsort(took, REPEATS, sizeof(double), ascending);
  PMPI_Bcast(&took[REPEATS / 2], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return took[REPEATS / 2];
}

struct conditions run_in_one_place(void (*run)(void* what), void* what) {
  enum { ATTEMPTS = 4 };
  double before = measure_line_ns();
  for (int attempt = 1;; ++attempt) {
    watch_others();
    run(what);
    const double others = others_since_watch();
    const double after = measure_line_ns();
    if (attempt == ATTEMPTS || (after < 1.5 * before && before < 1.5 * after) || before == 0)
      return (struct conditions){after, others};
    before = after;
  }
}
