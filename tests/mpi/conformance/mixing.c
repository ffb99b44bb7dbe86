#include "exchange.h"
#include "themes.h"

#include <stdlib.h>
#include <string.h>

enum { big = 1 << 20 };

/* A send too large to be buffered is under way while its sender sits in a collective, and the receiver posts its
 * receive before it joins: the collective must keep MPI's progress going or nobody ever moves. */
static void unfinished_send_across(int use_barrier, MPI_Comm comm) {
  char* data = calloc(1, big);
  MPI_Request request = MPI_REQUEST_NULL;
  int partner = world_size - 1;
  if (world_rank == 0) {
    memset(data, 42, big);
    MPI_Isend(data, big, MPI_BYTE, partner, 5, comm, &request);
  } else if (world_rank == partner) {
    MPI_Recv(data, big, MPI_BYTE, 0, 5, comm, MPI_STATUS_IGNORE);
    check(data[0] == 42 && data[big - 1] == 42, "message across a collective is damaged");
  }
  if (use_barrier)
    check_barrier("send under way", comm);
  else
    check_broadcast("send under way", plain_bytes(2000), 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(data);
}

/* Everybody keeps a ring of messages in flight through a series of collectives and looks at them only afterwards. */
static void outstanding_ring(int bytes) {
  int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
  unsigned char* out = malloc((size_t)bytes);
  unsigned char* in = calloc(1, (size_t)bytes);
  unsigned char* expected = malloc((size_t)bytes);
  MPI_Request requests[2];
  fill_pattern(out, (size_t)bytes, (uint64_t)world_rank);
  fill_pattern(expected, (size_t)bytes, (uint64_t)previous);
  MPI_Irecv(in, bytes, MPI_BYTE, previous, 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, next, 9, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 6; ++i) {
    check_broadcast("ring outstanding", plain_bytes(100 << (2 * i)), i % world_size, MPI_COMM_WORLD);
    check_allgather("ring outstanding", plain_bytes(9 << i), plain_bytes(9 << i), MPI_COMM_WORLD);
    under_test.barrier(MPI_COMM_WORLD);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(memcmp(in, expected, (size_t)bytes) == 0, "ring message of %d bytes is damaged", bytes);
  free(out), free(in), free(expected);
}

/* A receive from anybody with any tag, posted on the same communicator, must never catch traffic of a collective. */
static void wildcards(void) {
  int token = -1;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 5; ++i) {
    check_broadcast("wildcard posted", plain_bytes(3 + 5000 * i), i % world_size, MPI_COMM_WORLD);
    check_allgather("wildcard posted", plain_bytes(1 + 999 * i), plain_bytes(1 + 999 * i), MPI_COMM_WORLD);
    check_barrier("wildcard posted", MPI_COMM_WORLD);
  }
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
  check(flag == 0, "a collective left a visible message");
  under_test.barrier(MPI_COMM_WORLD); /* nobody's token may arrive before every rank has probed */
  MPI_Send(&world_rank, 1, MPI_INT, (world_rank + 1) % world_size, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  check(token == (world_rank + world_size - 1) % world_size && status.MPI_TAG == 3, "wildcard caught %d, tag %d", token,
        status.MPI_TAG);
}

/* A chain of blocking messages between collectives: each rank waits for its predecessor. */
static void relay(void) {
  for (int lap = 0; lap < 20; ++lap) {
    int baton = lap;
    if (world_rank > 0) MPI_Recv(&baton, 1, MPI_INT, world_rank - 1, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank + 1 < world_size) {
      int next = baton + 1;
      MPI_Send(&next, 1, MPI_INT, world_rank + 1, lap, MPI_COMM_WORLD);
    }
    check(baton == lap + world_rank, "baton is %d", baton);
    int last = baton;
    under_test.broadcast(&last, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
    check(last == lap + world_size - 1, "last baton is %d", last);
  }
}

void theme_mixing(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (world_size > 1) {
    unfinished_send_across(1, MPI_COMM_WORLD);
    unfinished_send_across(0, MPI_COMM_WORLD);
    unfinished_send_across(1, other);
    unfinished_send_across(0, other);
  }
  outstanding_ring(64);
  outstanding_ring(big);
  wildcards();
  relay();
  MPI_Comm_free(&other);
}
