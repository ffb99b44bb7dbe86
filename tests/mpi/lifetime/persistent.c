/* Persistent collectives: made once, started again and again, in any order. Each rank prints nothing but what is wrong;
 * rank 0 ends with "persistent: right". Run under a time limit: most of what can go wrong here is a deadlock.
 *
 *     persistent [case ...]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, wrong;

static void expect(int right, const char* what) {
  if (!right && ++wrong <= 5) printf("rank %d: %s\n", rank, what);
}

static int sum_of_ranks(void) { return size * (size - 1) / 2; }

/* The same buffers with new data, and every way to wait. */
static void again(void) {
  enum { most = 20000 };
  static int data[most], sums[most];
  for (int count = 1; count <= most; count *= 20) {
    MPI_Request requests[2];
    MPI_Bcast_init(data, count, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(data, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int turn = 0; turn < 50; ++turn) {
      for (int i = 0; i < count; ++i) data[i] = rank == 0 ? turn + i : -1;
      MPI_Start(&requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      expect(data[count - 1] == turn + count - 1, "again: wrong broadcast");
      for (int i = 0; i < count; ++i) data[i] = rank + turn;
      MPI_Start(&requests[1]);
      for (int done = 0; !done;) MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
      expect(sums[count - 1] == sum_of_ranks() + size * turn, "again: wrong sum");
    }
    expect(requests[0] != MPI_REQUEST_NULL, "again: the request is gone");
    for (int r = 0; r < 2; ++r) MPI_Request_free(&requests[r]);
    expect(requests[0] == MPI_REQUEST_NULL, "again: the request is still there");
  }
}

/* Made in one order, started in another one on each rank, short and long. */
static void any_order(void) {
  enum { requests = 6, turns = 20, count = 6000 };
  static int data[requests][count], sums[requests][count];
  MPI_Request all[requests];
  for (int r = 0; r < requests; ++r)
    MPI_Allreduce_init(data[r], sums[r], r % 2 ? count : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &all[r]);
  for (int turn = 0; turn < turns; ++turn) {
    for (int r = 0; r < requests; ++r)
      for (int i = 0; i < count; ++i) data[r][i] = rank + r + turn;
    for (int r = 0; r < requests; ++r) MPI_Start(&all[(r + rank + turn) % requests]);
    MPI_Waitall(requests, all, MPI_STATUSES_IGNORE);
    for (int r = 0; r < requests; ++r) expect(sums[r][1] == sum_of_ranks() + size * (r + turn), "any order: wrong sum");
  }
  for (int r = 0; r < requests; ++r) MPI_Request_free(&all[r]);
}

/* Completes all of an array that is started, in one of the ways for arrays. */
static void complete(int way, int count, MPI_Request* all) {
  int flag = 0, left = count, index = 0, done = 0, indices[8];
  MPI_Status statuses[8];
  switch (way) {
    case 0: MPI_Waitall(count, all, statuses); break;
    case 1:
      while (!flag) MPI_Testall(count, all, &flag, statuses);
      break;
    case 2:
      for (; left > 0; --left) {
        MPI_Waitany(count, all, &index, statuses);
        expect(index != MPI_UNDEFINED, "mixed: nothing to wait for");
      }
      break;
    case 3:
      for (; left > 0; left -= done) MPI_Waitsome(count, all, &done, indices, statuses);
      break;
    case 4:
      for (; left > 0; left -= flag) MPI_Testany(count, all, &index, &flag, statuses);
      break;
    case 5:
      for (; left > 0; left -= done) MPI_Testsome(count, all, &done, indices, statuses);
      break;
    case 6: /* looked at among others, and then completed one by one */
      MPI_Testany(count, all, &index, &flag, statuses);
      for (int r = 0; r < count; ++r) MPI_Wait(&all[r], statuses);
      break;
  }
  MPI_Waitany(count, all, &index, statuses);
  expect(index == MPI_UNDEFINED, "mixed: something to wait for is left");
}

/* With native's own persistent requests, started together. */
static void mixed(void) {
  enum { requests = 5 };
  int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank, in = -1, sum = 0, one = 1;
  int* blocks = malloc((size_t)size * sizeof *blocks);
  MPI_Request all[requests];
  MPI_Send_init(&out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &all[0]);
  MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
  MPI_Recv_init(&in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &all[2]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &all[3]);
  MPI_Allgather_init(&out, 1, MPI_INT, blocks, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &all[4]);
  for (int turn = 0; turn < 70; ++turn) {
    in = sum = -1;
    memset(blocks, -1, (size_t)size * sizeof *blocks);
    MPI_Startall(requests, all);
    complete(turn % 7, requests, all);
    expect(in == from && sum == size && blocks[size - 1] == size - 1, "mixed: wrong data");
  }
  for (int r = 0; r < requests; ++r) MPI_Request_free(&all[r]);
  free(blocks);
}

/* A request that is not active is complete, as an empty one. */
static void inactive(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0, index = 0, count = 1;
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE, "inactive: the status is not empty");
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    expect(flag, "inactive: is not complete");
    MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    expect(flag && index == MPI_UNDEFINED, "inactive: somebody completed it");
    MPI_Start(&request);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, &status);
  }
  MPI_Request_free(&request);
}

/* Types, operations and requests are freed while they are in use. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void freed(void) {
  int data[8], sum = 0, ones[4] = {1, 1, 1, 1}, sums[4];
  MPI_Datatype every_other;
  MPI_Op own;
  MPI_Request requests[2];
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Op_create(add, 1, &own);
  MPI_Bcast_init(data, 1, every_other, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allreduce_init(ones, sums, 4, MPI_INT, own, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Type_free(&every_other);
  MPI_Op_free(&own);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 8; ++i) data[i] = rank == size - 1 ? turn + i : -1;
    MPI_Startall(2, requests);
    if (turn < 2) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (turn < 2) expect(data[6] == turn + 6 && sums[3] == size, "freed: wrong data");
  }
  for (int r = 0; r < 2; ++r) MPI_Request_free(&requests[r]);
  MPI_Allreduce(&ones, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(sum == size, "freed: wrong sum");
}

/* Other collectives of the communicator while some are active. */
static void between(void) {
  enum { count = 30000 };
  static int data[count], sums[count];
  MPI_Request request, other;
  for (int i = 0; i < count; ++i) data[i] = rank;
  MPI_Allreduce_init(data, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < 10; ++turn) {
    int sum = 0, value = rank == turn % size ? turn : -1;
    if (rank % 2) MPI_Start(&request);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank % 2 == 0) MPI_Start(&request);
    MPI_Ibcast(&value, 1, MPI_INT, turn % size, MPI_COMM_WORLD, &other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    expect(sum == sum_of_ranks() && value == turn && sums[count - 1] == sum, "between: wrong data");
  }
  MPI_Request_free(&request);
}

/* As a stencil code has them: many, on communicators that come and go. */
static void many(void) {
  enum { requests = 100 };
  MPI_Request all[requests];
  int values[requests];
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    for (int r = 0; r < requests; ++r) MPI_Bcast_init(&values[r], 1, MPI_INT, r % size, comm, MPI_INFO_NULL, &all[r]);
    for (int start = 0; start < 3; ++start) {
      for (int r = 0; r < requests; ++r) values[r] = r % size == size - 1 - rank ? r + start : -1;
      MPI_Startall(requests, all);
      MPI_Waitall(requests, all, MPI_STATUSES_IGNORE);
      for (int r = 0; r < requests; ++r) expect(values[r] == r + start, "many: wrong value");
    }
    for (int r = 0; r < requests; ++r) MPI_Request_free(&all[r]);
    MPI_Comm_free(&comm);
  }
}

/* Sizes that only their ranks know, told once. */
static void uneven(void) {
  int *out = calloc((size_t)(size * size), sizeof *out), *in = calloc((size_t)(size * size), sizeof *in);
  int* numbers = malloc((size_t)(4 * size) * sizeof *numbers);
  int *sent = numbers, *sent_at = numbers + size, *received = numbers + 2 * size, *received_at = numbers + 3 * size;
  for (int r = 0; r < size; ++r) {
    sent[r] = (rank + r) % size, received[r] = (r + rank) % size;
    sent_at[r] = received_at[r] = r * size;
  }
  MPI_Request request;
  MPI_Alltoallv_init(out, sent, sent_at, MPI_INT, in, received, received_at, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &request);
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < size * size; ++i) out[i] = 1000 * rank + i % size + turn, in[i] = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < size; ++i)
        expect(in[r * size + i] == (i < received[r] ? 1000 * r + i + turn : -1), "uneven: wrong data");
  }
  MPI_Request_free(&request);
  free(out), free(in), free(numbers);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"again", again}, {"any_order", any_order}, {"mixed", mixed}, {"inactive", inactive},
             {"freed", freed}, {"between", between},     {"many", many},   {"uneven", uneven}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    int is_wanted = argc < 2;
    for (int i = 1; i < argc; ++i) is_wanted |= !strcmp(argv[i], cases[c].name);
    if (is_wanted) cases[c].run();
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("persistent: %s\n", all ? "wrong" : "right");
  MPI_Finalize();
  return all != 0;
}
