/* What a program gets from its first calls on: every operation in several sizes, called again and again.
 *
 *   mpiexec -n 2 env LD_PRELOAD=libespalier-<abi>.so bench_learning_<abi> [CALLS [LARGEST]]
 *
 * One line for each operation and size: microseconds per call, on the slowest rank, of the first hundred calls and of
 * the last hundred, median and mean; the job is run natively, with ESPALIER_LEARN=off and =on, and a second time with
 * what was kept, in turns (bench/learning.py). Numbers are integers, so that every way of adding them is right.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { window = 100, most_calls = 100000 };

static int rank, ranks;
static int *in, *out;

typedef void calling(int count);

static void broadcast(int count) { MPI_Bcast(out, count, MPI_INT, 0, MPI_COMM_WORLD); }
static void scatter(int count) { MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD); }
static void gather(int count) { MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD); }
static void allgather(int count) { MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD); }
static void alltoall(int count) { MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD); }
static void reduce(int count) { MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(int count) { MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void reduce_scatter(int count) { MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void scan(int count) { MPI_Scan(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void barrier(int count) {
  (void)count;
  MPI_Barrier(MPI_COMM_WORLD);
}

static const struct operation {
  const char* name;
  calling* call;
} operations[] = {
    {"broadcast", broadcast}, {"scatter", scatter}, {"gather", gather},       {"allgather", allgather},
    {"alltoall", alltoall},   {"reduce", reduce},   {"allreduce", allreduce}, {"reduce_scatter", reduce_scatter},
    {"scan", scan},           {"barrier", barrier},
};

static double spent[most_calls];

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* All ranks start a call when all have ended the one before. Natively. */
static void time_calls(const struct operation* operation, int count, int calls) {
  for (int call = 0; call < calls; ++call) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    operation->call(count);
    spent[call] = (MPI_Wtime() - from) * 1e6;
  }
  PMPI_Allreduce(MPI_IN_PLACE, spent, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static double sum_of(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

static void measure(const struct operation* operation, int bytes, int calls) {
  time_calls(operation, bytes / (int)sizeof(int), calls);
  const double all = sum_of(spent, calls) / calls;
  const int some = calls < window ? calls : window;
  qsort(spent, (size_t)some, sizeof *spent, by_value);
  double* const last = spent + calls - some;
  qsort(last, (size_t)some, sizeof *last, by_value);
  if (rank == 0) printf("%s %d %.3f %.3f %.3f\n", operation->name, bytes, spent[some / 2], last[some / 2], all);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int calls = argc > 1 ? atoi(argv[1]) : 1000, largest = argc > 2 ? atoi(argv[2]) : 1 << 20;
  if (calls < 1 || calls > most_calls || largest < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const size_t room = (size_t)largest * (size_t)ranks;
  in = malloc(room), out = malloc(room);
  memset(in, 1, room), memset(out, 2, room);
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o)
    for (int bytes = 4; bytes <= largest; bytes *= 16) {
      measure(&operations[o], bytes, calls);
      if (operations[o].call == barrier) break;
    }
  MPI_Finalize();
  return 0;
}
