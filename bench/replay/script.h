/* What a recorded program's ranks are to do again (python/espalier/replay/script.py writes it). Text:
 *
 *   replay 2 RANKS PIECES CALLS
 *   piece OPERATION FORM MEMBERS ROOT GAP_US BETWEEN_US      once for each piece, followed by
 *   RANK BLOCK_BYTES EARLY_US IN FROM… OUT TO…               once for each member, in the communicator's order
 *   PIECE ROOT LAST                                          once for each call; root and last are members
 *
 * IN neighbours FROM and OUT neighbours TO, members, are those of neighbourhood collectives; else there are none.
 */
#ifndef ESPALIER_BENCH_REPLAY_SCRIPT_H
#define ESPALIER_BENCH_REPLAY_SCRIPT_H

struct neighbors {
  int in, out;
  int *from, *to;
};

/* Calls of one kind: the same on all ranks. */
struct piece {
  char operation[32], form[16];
  int size; /* members */
  int root; /* of most calls */
  double gap_us, between_us;
  int* members;                /* in MPI_COMM_WORLD */
  int* blocks;                 /* bytes, by member */
  double* early_us;            /* how long before the last one a member comes */
  struct neighbors* neighbors; /* by member */
};

struct call {
  int piece, root, last;
};

struct script {
  int ranks, piece_count, call_count;
  struct piece* pieces;
  struct call* calls;
};

/* Rank 0 reads the file and tells the others; ends the job where that is no script. Kept until the process ends. */
void read_script(const char* path, struct script* script);

/* Where this rank is among the members; -1: not one of them. */
int place_in(const struct piece* piece);

#endif
