#include "compute.h"

#include <mpi.h>

/* Stays in registers. Volatile, or the compiler works it out. */
static void work(long units) {
  static volatile double seed = 2;
  double x = seed;
  for (long i = 0; i < units; ++i)
    for (int j = 0; j < 16; ++j) x = x * 0.999999 + 1e-6;
  seed = x;
}

/* The best of some. */
static double measure_units_per_us(void) {
  enum { UNITS = 50000, ROUNDS = 5 };
  double best = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    const double begin = MPI_Wtime();
    work(UNITS);
    const double rate = UNITS / ((MPI_Wtime() - begin) * 1e6);
    if (rate > best) best = rate;
  }
  return best;
}

void compute(double us) {
  static double units_per_us;
  if (units_per_us == 0) units_per_us = measure_units_per_us();
  if (us > 0) work((long)(us * units_per_us));
}

double time_compute(double us) {
  const double begin = MPI_Wtime();
  compute(us);
  return (MPI_Wtime() - begin) * 1e6;
}
