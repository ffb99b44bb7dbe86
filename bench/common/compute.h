/* What a program does between start and wait: keeps its processor busy, and leaves the memory alone. */
#ifndef ESPALIER_BENCH_COMPUTE_H
#define ESPALIER_BENCH_COMPUTE_H

/* For about so many microseconds, however long others keep it from running. Nothing for 0 and less. */
void compute(double us);

/* Does the same; how many microseconds that took. */
double time_compute(double us);

#endif
