/* Cache lines that the ranks of one node share: by them they begin a call at the same moment and see how far apart they
 * are. All ranks of the job call these functions together. */
#ifndef ESPALIER_BENCH_LINES_H
#define ESPALIER_BENCH_LINES_H

/* Makes start_together a native barrier everywhere. To be called before anything else here. */
void start_by_barrier(void);

/* Returns on all ranks at the same moment, which rank 0 names, where all have a core of their own and read one clock.
 * A barrier lets some ranks go earlier than others (Open MPI's, by a quarter of a microsecond), and then it depends on
 * who is first how long a short call takes. Elsewhere this is a native barrier; also where MPI_Win_allocate_shared
 * fails, which rank 0 says once. */
void start_together(void);

/* Nanoseconds in which a cache line goes from rank 0 to rank 1 and comes back, the median of some; 0 where
 * start_together is a barrier. The same on all ranks.
 *
 * On a machine of its own it never changes. On a virtual one the host moves virtual processors about, now to cores that
 * share a cache (on an EPYC 100 ns), now to cores that do not (500 ns), every ten seconds or so: times of short
 * messages change by a factor of two to three, and only those measured at one distance can be compared. */
double measure_line_ns(void);

/* Under which conditions something was measured. */
struct conditions {
  double line_ns; /* how far apart the ranks were (measure_line_ns) */
  double others;  /* how many processors other programs kept busy (others.h) */
};

/* Calls run(what) and returns the conditions meanwhile. If the ranks moved it is called again, a few times at most:
 * what it leaves must be that of its last call. */
struct conditions run_in_one_place(void (*run)(void* what), void* what);

#endif
