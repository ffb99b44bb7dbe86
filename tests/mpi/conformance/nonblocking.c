#include <string.h>

#include "exchange.h"
#include "movement.h"
#include "themes.h"

/* Nonblocking collectives of the MPI underneath stay in flight around blocking ones on the same communicator: MPI asks
 * only that all ranks start them in the same order. */
static void around(MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int turn = 0; turn < 10; ++turn) {
    int value = rank == turn % size ? 1000 + turn : -1, sum = 0, one = 1;
    int all[256];
    MPI_Request request[4];
    MPI_Ibcast(&value, 1, MPI_INT, turn % size, comm, &request[0]);
    check_broadcast("ibcast under way", plain_bytes(10 + 700 * turn), (turn + 1) % size, comm);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &request[1]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request[2]);
    check_allgather("iallgather under way", plain_bytes(12), plain_bytes(12), comm);
    MPI_Ibarrier(comm, &request[3]);
    check_barrier("ibarrier under way", comm);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    check(value == 1000 + turn && sum == size && all[size - 1] == size - 1, "nonblocking gave %d, %d, %d", value, sum,
          all[size - 1]);
  }
}

/* The same of blocks of different sizes. */
static void around_blocks(MPI_Comm comm) {
  enum { most = 256, length = 40 };
  int rank = 0, size = 0, counts[most], offsets[most], all[most * length], own[length];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int turn = 0; turn < 12; ++turn) {
    const int root = turn % size;
    MPI_Request request;
    for (int r = 0; r < size; ++r) {
      counts[r] = (r + 5 * turn) % (length + 1);
      offsets[r] = r * length;
      for (int i = 0; i < length; ++i) all[r * length + i] = rank == root ? 1000 * turn + r + i : -1;
    }
    memset(own, -1, sizeof own);
    MPI_Iscatterv(all, counts, offsets, MPI_INT, own, counts[rank], MPI_INT, root, comm, &request);
    for (int movement = scatter; movement <= alltoall; ++movement) {
      const struct movement_call call = {"iscatterv under way",
                                         (enum movement)movement,
                                         1,
                                         0,
                                         0,
                                         MPI_INT,
                                         MPI_INT,
                                         3 << turn,
                                         (root + 1) % size,
                                         comm};
      check_movement(call);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i)
      check(own[i] == (i < counts[rank] ? 1000 * turn + rank + i : -1), "iscatterv gave %d at %d", own[i], i);
  }
}

void theme_nonblocking(void) {
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  if (world_size <= 256) {
    around(MPI_COMM_WORLD);
    around(reversed);
    around_blocks(MPI_COMM_WORLD);
    around_blocks(reversed);
  }
  MPI_Comm_free(&reversed);
}
