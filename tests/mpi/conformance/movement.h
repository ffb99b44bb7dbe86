/* Scatter, gather, allgather and alltoall, with equal and with unequal blocks, each with the proof that it did what MPI
 * says: the whole allocation is compared with one that MPI_Unpack filled from bytes every rank can compute. */
#ifndef ESPALIER_TESTS_MOVEMENT_H
#define ESPALIER_TESTS_MOVEMENT_H

#include "check.h"

enum movement { scatter, gather, allgather, alltoall };

/* One call. Blocks of rank `from` for rank `to` hold `count` elements of `type`, or with `uneven` a number between 0
 * and about twice that, different for every pair. */
struct movement_call {
  const char* what;
  enum movement movement;
  int uneven;   /* the v-form */
  int gap;      /* v-forms: elements of `type` between blocks; negative: blocks lie in reverse order, without gaps */
  int in_place; /* where MPI allows it */
  MPI_Datatype send; /* both committed and of equal signature */
  MPI_Datatype receive;
  int count;
  int root; /* scatter, gather */
  MPI_Comm comm;
};

/* Makes the call with fresh content and checks every byte of this rank's buffers, the sent one included. */
void check_movement(struct movement_call call);

#endif
