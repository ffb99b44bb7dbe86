/* Choosing by hand: times an allgather under the selections given on the command line, each on the same communicator.
 *
 *   espalier run -n 4 -- choose 65536 native "" "ring,within=cells,cell=32K,cells=4"
 *
 * The empty selection is the automatic choice. What Espalier says of each may differ from what was asked for: a
 * selection that cannot serve the problem leaves it to the MPI, with the reason. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <espalier/espalier.h>

static double microseconds_per_call(const char* in, char* out, int bytes) {
  enum { CALLS = 200 };
  double mine, slowest;
  MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD); /* the first call builds the program */
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < CALLS; ++i) MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
  mine = (MPI_Wtime() - begin) * 1e6 / CALLS;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  int rank, ranks, bytes = argc > 1 ? atoi(argv[1]) : 65536, refused = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (bytes < 1 || bytes > 1 << 26) MPI_Abort(MPI_COMM_WORLD, 2);
  char *in = calloc(1, (size_t)bytes), *out = calloc((size_t)ranks, (size_t)bytes), said[256];
  if (in == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 2; i < argc; ++i) {
    if (Espalier_Choose("allgather", argv[i], MPI_COMM_WORLD) != MPI_SUCCESS) {
      if (rank == 0) printf("%-40s is no selection of an allgather\n", argv[i]);
      refused = 1;
      continue;
    }
    double us = microseconds_per_call(in, out, bytes);
    Espalier_Describe("allgather", bytes, 0, MPI_COMM_WORLD, said, sizeof(said));
    if (rank == 0) printf("%-40s %10.2f us   %s\n", argv[i][0] ? argv[i] : "(automatic)", us, said);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return refused;
}
