/* One broadcast, allgather or barrier together with the proof that it did what MPI says.
 *
 * The proof never trusts the operation under test: the expected content of a buffer is made with MPI_Unpack from bytes
 * that every rank can compute by itself, and the *whole* allocation is compared, so that bytes between a datatype's
 * blocks and bytes before and behind the buffer count too. */
#ifndef ESPALIER_TESTS_EXCHANGE_H
#define ESPALIER_TESTS_EXCHANGE_H

#include "check.h"

/* Where the data of one call lies in a rank's memory. Ranks may use different layouts of one type signature in one
 * call. */
struct layout {
  MPI_Datatype type; /* committed */
  int count;         /* elements of `type` (per rank, for an allgather's receive side) */
  int absolute;      /* call with MPI_BOTTOM and a type made of absolute addresses */
};

/* The functions under test: MPI's own names unless a theme puts another set of entry points in their place. */
struct entry_points {
  int (*broadcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*barrier)(MPI_Comm);
};
extern struct entry_points under_test;

/* Broadcasts fresh content from `root` and checks it on every rank of `comm` (an intracommunicator). */
void check_broadcast(const char* what, struct layout mine, int root, MPI_Comm comm);

/* Gathers fresh content of every rank on every rank. */
void check_allgather(const char* what, struct layout send, struct layout receive, MPI_Comm comm);

/* The same with MPI_IN_PLACE. */
void check_allgather_in_place(const char* what, struct layout receive, MPI_Comm comm);

/* Checks that no rank leaves a barrier before the last one entered it. All ranks must share one clock (one machine). */
void check_barrier(const char* what, MPI_Comm comm);

/* Shorthand: `bytes` contiguous bytes. */
struct layout plain_bytes(int bytes);

/* Broadcast (root 0 and the last rank), allgather and barrier, small: "does this communicator work at all". */
void check_communicator(const char* what, MPI_Comm comm);

#endif
