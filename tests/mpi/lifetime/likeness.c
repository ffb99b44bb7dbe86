/* Calls of MPI_Alltoallv with equal blocks, and then others that are like them as some ranks see it and not as others
 * do. Prints "likeness: passed". */
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 4, MOST = 3 };

static int rank;

/* What `from` sends `to`, in ints: of the odd calls some blocks are longer, none of them rank 0's or rank 1's. */
static int length(int from, int to, int is_odd) { return is_odd && from > 1 && to > 1 && from != to ? MOST : 1; }

static int exchange(int is_odd) {
  /* A rank that looked in front of its counts would find them changed, too. */
  int sent[2 * RANKS], got[2 * RANKS], places[RANKS], in[RANKS * MOST], out[RANKS * MOST] = {0};
  int *const sends = sent + RANKS, *const receives = got + RANKS;
  for (int r = 0; r < RANKS; ++r) {
    sent[r] = got[r] = is_odd ? 7 : 1;
    sends[r] = length(rank, r, is_odd);
    receives[r] = length(r, rank, is_odd);
    places[r] = r * MOST;
    for (int i = 0; i < MOST; ++i) in[r * MOST + i] = 100 * rank + 10 * r + i;
  }
  MPI_Alltoallv(in, sends, places, MPI_INT, out, receives, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < RANKS; ++r)
    for (int i = 0; i < receives[r]; ++i)
      if (out[r * MOST + i] != 100 * r + 10 * rank + i) return 0;
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int is_right = 1, all = 0;
  for (int call = 0; call < 40; ++call) is_right &= exchange(call % 4 == 3);
  MPI_Reduce(&is_right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all ? "likeness: passed" : "likeness: wrong data");
  MPI_Finalize();
  return 0;
}
