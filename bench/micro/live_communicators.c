/* What communicators cost that stay alive: duplicates MPI_COMM_WORLD so many times, uses each (allreduce of 8 bytes),
 * and frees them at the end.
 *
 *   espalier run -n 8 -- bench_live_communicators COMMUNICATORS [USES] [native]
 *
 * USES (default 12) more than ESPALIER_SETUP_CALLS, or all stay native. Prints, of the first tenth and of all: memory
 * of the whole job that came with them, for each communicator and rank (proportional set size of
 * /proc/self/smaps_rollup: what ranks share counts once), private and shared; and the slowest rank's time for each
 * communicator. `native` goes by PMPI_. A failure ends the run and says after how many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
  double private_kb, shared_kb;
};

static struct memory measure_memory(void) {
  struct memory here = {0, 0}, all;
  char line[256];
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    sscanf(line, "Pss_Anon: %lf", &here.private_kb);
    sscanf(line, "Pss_Shmem: %lf", &here.shared_kb);
  }
  if (file != NULL) fclose(file);
  PMPI_Allreduce(&here, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static int use(MPI_Comm comm, int uses, int is_native) {
  double one = 1, sum = 0;
  int code = MPI_SUCCESS;
  for (int i = 0; i < uses && code == MPI_SUCCESS; ++i)
    code = is_native ? PMPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm)
                     : MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  return code;
}

/* Those from `done` to `wanted`; how many there are then. */
static int make(int done, int wanted, int uses, int is_native, MPI_Comm* all) {
  for (; done < wanted; ++done)
    if (PMPI_Comm_dup(MPI_COMM_WORLD, &all[done]) != MPI_SUCCESS || use(all[done], uses, is_native) != MPI_SUCCESS)
      break;
  return done;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int wanted = argc > 1 ? atoi(argv[1]) : 1000, uses = argc > 2 ? atoi(argv[2]) : 12;
  const int is_native = argc > 3 && strcmp(argv[3], "native") == 0;
  MPI_Comm* const all = malloc(sizeof *all * (size_t)(wanted + 1));
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm warm_up;
  make(0, 1, uses, is_native, &warm_up);
  const struct memory before = measure_memory();
  const double begin = PMPI_Wtime();
  int done = 0;
  for (int part = wanted / 10 > 0 ? wanted / 10 : 1; part <= wanted; part = part == wanted ? wanted + 1 : wanted) {
    done = make(done, part, uses, is_native, all);
    double took = PMPI_Wtime() - begin, slowest = 0;
    PMPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    const struct memory now = measure_memory();
    const double each = 1.0 / done / ranks;
    if (rank == 0)
      printf("%6d of %d ranks%s: %7.2f KB private and %6.2f KB shared per communicator and rank, %7.0f us each\n", done,
             ranks, is_native ? ", native" : "", (now.private_kb - before.private_kb) * each,
             (now.shared_kb - before.shared_kb) * each, 1e6 * slowest / done);
    if (done < part) break;
  }
  if (rank == 0 && done < wanted) printf("no more communicators than %d\n", done);
  while (done > 0) MPI_Comm_free(&all[--done]);
  free(all);
  MPI_Finalize();
  return 0;
}
