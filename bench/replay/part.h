/* One piece of the script as this rank plays it: communicator, buffers, and the calls of both libraries. */
#ifndef ESPALIER_BENCH_REPLAY_PART_H
#define ESPALIER_BENCH_REPLAY_PART_H

#include <mpi.h>

#include "script.h"

enum { NATIVE, ESPALIER, LIBRARIES };

struct part;
typedef void run_part(const struct part* part, int root);
typedef void start_part(const struct part* part, int root, MPI_Request* request);

/* The calls of one library. */
struct forms {
  run_part* run;
  start_part *start, *init; /* nonblocking; persistent */
};

struct part {
  const struct piece* piece;
  int me, ranks;
  MPI_Comm comm;
  MPI_Datatype type;
  int count, element;            /* of this rank's block, in elements; bytes of one */
  int *counts, *offsets;         /* of all members' blocks; of those that come from neighbours */
  int *own, *own_offsets;        /* the same for blocks as long as this rank's; for each neighbour that gets one */
  MPI_Datatype* types;           /* as many as the most blocks of either side */
  MPI_Aint *places, *own_places; /* offsets and own_offsets, as MPI_Neighbor_alltoallw takes them */
  char *in, *out;
  const struct forms* forms[LIBRARIES];
  MPI_Request persistent[LIBRARIES];
  enum { BLOCKING, NONBLOCKING, PERSISTENT } form;
};

/* All ranks together, pieces in order, members or not. Buffers are touched; a persistent call is initialised. */
void make_part(const struct piece* piece, struct part* part);

/* One call of a member, `between_us` after it was started where it does not block. Returns how long it was in MPI, in
 * microseconds. */
double play_part(struct part* part, int library, int root);

void release_part(struct part* part);

#endif
