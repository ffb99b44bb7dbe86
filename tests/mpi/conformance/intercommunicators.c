#include "exchange.h"
#include "themes.h"

static void broadcast_from(int sending_side, int root, int side, int local_rank, MPI_Comm both) {
  int payload[300];
  for (int i = 0; i < 300; ++i) payload[i] = side == sending_side && local_rank == root ? 7 * i + root : -1;
  int seen_root = side != sending_side ? root : local_rank == root ? MPI_ROOT : MPI_PROC_NULL;
  int code = under_test.broadcast(payload, 300, MPI_INT, seen_root, both);
  int expect_data = side != sending_side || local_rank == root;
  int wrong = 0;
  for (int i = 0; i < 300; ++i) wrong += payload[i] != (expect_data ? 7 * i + root : -1);
  check(code == MPI_SUCCESS && wrong == 0, "intercommunicator broadcast: code %d, %d wrong", code, wrong);
}

/* The sides send different amounts: rank r of side s contributes 2 + s numbers. */
static void gather_across(int side, int local_rank, MPI_Comm both) {
  int remote_size = 0, sent[3], received[3 * 256], other = 2 + (1 - side), wrong = 0;
  MPI_Comm_remote_size(both, &remote_size);
  if (remote_size > 256) return;
  for (int i = 0; i < 2 + side; ++i) sent[i] = 100 * local_rank + 10 * side + i;
  int code = under_test.allgather(sent, 2 + side, MPI_INT, received, other, MPI_INT, both);
  for (int rank = 0; rank < remote_size; ++rank)
    for (int i = 0; i < other; ++i) wrong += received[rank * other + i] != 100 * rank + 10 * (1 - side) + i;
  check(code == MPI_SUCCESS && wrong == 0, "intercommunicator allgather: code %d, %d wrong", code, wrong);
}

void theme_intercommunicators(void) {
  if (world_size < 2) return;
  MPI_Comm mine, both, merged;
  int side = world_rank % 2, local_rank = 0, local_size = 0, remote_size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - side, 11, &both);
  MPI_Comm_rank(mine, &local_rank);
  MPI_Comm_size(mine, &local_size);
  MPI_Comm_remote_size(both, &remote_size);
  for (int turn = 0; turn < 3; ++turn)
    for (int sender = 0; sender < 2; ++sender) {
      int senders = side == sender ? local_size : remote_size;
      broadcast_from(sender, turn % senders, side, local_rank, both);
    }
  gather_across(side, local_rank, both);
  check(under_test.barrier(both) == MPI_SUCCESS, "intercommunicator barrier");
  check_communicator("beside an intercommunicator", mine);
  MPI_Intercomm_merge(both, side, &merged);
  check_communicator("merged", merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}
