#include "exchange.h"
#include "themes.h"

static void use_and_free(const char* what, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  check_communicator(what, comm);
  MPI_Comm_free(&comm);
}

static void duplicates(void) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  use_and_free("dup", comm);
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use_and_free("idup", comm);
  check_communicator("self", MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  use_and_free("dup of self", comm);
}

static void splits(void) {
  MPI_Comm comm;
  for (int colours = 1; colours <= 4; ++colours) {
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % colours, world_rank, &comm);
    use_and_free("split", comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank * colours / world_size, -world_rank, &comm);
    use_and_free("split, reversed keys", comm);
  }
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank * 7 % 5, &comm);
  use_and_free("split, shuffled keys", comm);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
  use_and_free("split, all but one", comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  use_and_free("split by shared memory", comm);
}

static void subsets(void) {
  MPI_Group world, group;
  MPI_Comm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int last = 0; last < world_size; ++last) {
    int range[1][3] = {{last, 0, -1}};
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    use_and_free("first ranks, backwards", comm);
    if (world_rank <= last) {
      MPI_Comm_create_group(MPI_COMM_WORLD, group, last, &comm);
      use_and_free("created by the group alone", comm);
    }
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
}

static void with_topology(void) {
  MPI_Comm comm, row;
  int dims[2] = {0, 0}, periods[2] = {0, 1}, keep[2] = {0, 1};
  MPI_Dims_create(world_size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  MPI_Cart_sub(comm, keep, &row);
  use_and_free("row of a grid", row);
  use_and_free("grid", comm);
}

/* Several alive at once, used in turn: sequence numbers and cells of one must not leak into another. */
static void several_alive(void) {
  enum { alive = 12 };
  MPI_Comm comm[alive];
  for (int i = 0; i < alive; ++i) {
    if (i % 3 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    else
      MPI_Comm_split(MPI_COMM_WORLD, world_rank % (1 + i % 4), i % 2 ? world_rank : -world_rank, &comm[i]);
  }
  for (int turn = 0; turn < 5 * alive; ++turn) {
    MPI_Comm chosen = comm[turn * 7 % alive];
    int size = 0;
    MPI_Comm_size(chosen, &size);
    check_broadcast("alive", plain_bytes(1 + turn * 37 % 9000), turn % size, chosen);
    check_allgather("alive", plain_bytes(turn * 13 % 700), plain_bytes(turn * 13 % 700), chosen);
  }
  for (int i = 0; i < alive; ++i) {
    MPI_Comm_free(&comm[i * 5 % alive]); /* not in the order of creation */
    check_communicator("alive, others freed", MPI_COMM_WORLD);
  }
}

/* A freed communicator's handle is used again by the next one: state must not be found by handle value. */
static void handles_come_back(void) {
  for (int i = 0; i < 20; ++i) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? world_rank % 2 : 0, i % 3 ? world_rank : -world_rank, &comm);
    use_and_free("new communicator, old handle", comm);
  }
}

void theme_communicators(void) {
  duplicates();
  splits();
  subsets();
  with_topology();
  several_alive();
  handles_come_back();
}
