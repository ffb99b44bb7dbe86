/* Calls that do not fit together, for tests of ESPALIER_CHECK:
 *
 *     misfit HOW RANK
 *
 * All make one call, with blocks of rank + 1 integers where it has counts, and RANK makes it with one integer too many
 * (gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter), with MPI_MAX in place of MPI_SUM (op), or with
 * another type (slice: every other float, where the others have as many integers; counted: floats in a gatherv).
 * "fine": nobody does anything wrong, in all of these calls, and data are told by types of various kinds that are all
 * of integers. Rank 0 prints "through" in the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static int rank, size, is_wrong;
static int in[MOST * MOST], out[MOST * MOST], counts[MOST], places[MOST], ones[MOST], bytes[MOST], byte_places[MOST];
static MPI_Datatype ints[MOST];

static void lay_out(void) {
  for (int r = 0, place = 0; r < size; place += ++r) {
    counts[r] = r + 1;
    places[r] = place;
    ones[r] = rank + 1;
    bytes[r] = (rank + 1) * r;
    byte_places[r] = place * (int)sizeof(int);
    ints[r] = MPI_INT;
  }
}

static int blocks(const char* how) {
  int mine = rank + 1 + (is_wrong && !strcmp(how, "gatherv"));
  if (!strcmp(how, "gatherv")) return MPI_Gatherv(in, mine, MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  mine = rank + 1 + is_wrong;
  if (!strcmp(how, "counted"))
    return MPI_Gatherv(in, rank + 1, is_wrong ? MPI_FLOAT : MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "scatterv")) return MPI_Scatterv(in, counts, places, MPI_INT, out, mine, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "allgatherv"))
    return MPI_Allgatherv(in, mine, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  if (is_wrong) counts[0] += 1;
  if (!strcmp(how, "alltoallv"))
    return MPI_Alltoallv(in, ones, bytes, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) bytes[r] *= (int)sizeof(int);
  if (!strcmp(how, "alltoallw"))
    return MPI_Alltoallw(in, ones, bytes, ints, out, counts, byte_places, ints, MPI_COMM_WORLD);
  return MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Four elements, every other of eight. */
static int broadcast_slice(MPI_Datatype of) {
  MPI_Datatype slice;
  MPI_Type_vector(2, 2, 4, of, &slice);
  MPI_Type_commit(&slice);
  const int code = MPI_Bcast(in, 1, slice, 0, MPI_COMM_WORLD);
  MPI_Type_free(&slice);
  return code;
}

static int broadcast_integers(void) {
  if (rank % 2 == 0) return MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD);
  return broadcast_slice(MPI_INT);
}

static void make_call(const char* how) {
  lay_out();
  if (!strcmp(how, "op"))
    MPI_Allreduce(in, out, 2, MPI_INT, is_wrong ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  else if (!strcmp(how, "slice"))
    is_wrong ? broadcast_slice(MPI_FLOAT) : broadcast_integers();
  else
    blocks(how);
}

int main(int argc, char** argv) {
  static const char* const all[] = {"op",         "slice",     "gatherv",   "counted",       "scatterv",
                                    "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size > MOST) return 2;
  is_wrong = strcmp(argv[1], "fine") != 0 && rank == atoi(argv[2]);
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    if (!strcmp(argv[1], "fine") || !strcmp(argv[1], all[i])) make_call(all[i]);
  if (rank == 0) printf("through\n");
  MPI_Finalize();
  return 0;
}
