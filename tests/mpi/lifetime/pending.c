/* Nonblocking collectives that are pending while their program does something else. Each rank prints nothing but what
 * is wrong; rank 0 ends with "pending: right". Run under a time limit: most of what can go wrong here is a deadlock.
 *
 *     pending [case ...]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { long_count = 300000 };

static int rank, size, wrong;

static void expect(int right, const char* what) {
  if (!right && ++wrong <= 5) printf("rank %d: %s\n", rank, what);
}

static void sleep_ms(int ms) {
  struct timespec time = {0, ms * 1000000L};
  nanosleep(&time, NULL);
}

static int* numbers(int count, int value) {
  int* made = malloc((size_t)count * sizeof *made);
  for (int i = 0; i < count; ++i) made[i] = value;
  return made;
}

/* The first collective of a communicator is a nonblocking one, and nobody waits before all have begun. */
static void first(void) {
  MPI_Comm comms[20];
  MPI_Request requests[20];
  int values[20];
  for (int c = 0; c < 20; ++c) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    values[c] = rank == c % size ? c : -1;
    MPI_Ibcast(&values[c], 1, MPI_INT, c % size, comms[c], &requests[c]);
  }
  MPI_Waitall(20, requests, MPI_STATUSES_IGNORE);
  for (int c = 0; c < 20; ++c) {
    expect(values[c] == c, "first: wrong value");
    MPI_Comm_free(&comms[c]);
  }
}

/* A rank begins, and goes on to a message for which another one waits first. */
static void late(void) {
  int data[3] = {rank, 0, 7}, sum = 0;
  MPI_Request request;
  if (rank == size - 1) MPI_Recv(&data[1], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&data[2], &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Send(&data[2], 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == 7 * size, "late: wrong sum");
}

/* Others need this rank to progress a long call while it waits for a message of theirs. */
static void waiting_for(int how) {
  int *data = numbers(long_count, rank == 0 ? 5 : 0), token = 0;
  MPI_Request request, message;
  MPI_Ibcast(data, long_count, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (rank == 0) {
    if (how == 0) MPI_Recv(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (how == 1) {
      MPI_Irecv(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, &message);
      MPI_Wait(&message, MPI_STATUS_IGNORE);
    }
    if (how == 2) {
      MPI_Probe(size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    token = 1;
    if (rank == size - 1) MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  for (int i = 0; i < long_count; i += 1000) expect(data[i] == 5, "waiting: wrong data");
  free(data);
}

/* The same, waiting in a send that is received late, or in an exchange. */
static void sending(int how) {
  int *data = numbers(long_count, rank == 0 ? 5 : 0), *message = numbers(long_count, rank),
      *other = numbers(long_count, -1);
  MPI_Request request;
  MPI_Ibcast(data, long_count, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (rank == 0 && how == 0) MPI_Send(message, long_count, MPI_INT, size - 1, 2, MPI_COMM_WORLD);
  if (rank == 0 && how == 1) MPI_Ssend(message, long_count, MPI_INT, size - 1, 2, MPI_COMM_WORLD);
  if (rank == 0 && how == 2)
    MPI_Sendrecv(message, long_count, MPI_INT, size - 1, 2, other, long_count, MPI_INT, size - 1, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  if (rank == 0 && how == 3)
    MPI_Sendrecv_replace(message, long_count, MPI_INT, size - 1, 2, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == size - 1) {
    if (how >= 2) MPI_Send(message, long_count, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Recv(other, long_count, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(other[long_count - 1] == 0, "sending: wrong message");
  }
  if (rank == 0 && how == 2) expect(other[7] == size - 1, "sending: wrong exchange");
  if (rank == 0 && how == 3) expect(message[7] == size - 1, "sending: wrong replacement");
  free(data), free(message), free(other);
}

/* Collectives on two communicators in another order on some ranks. */
static void crossed(void) {
  MPI_Comm two[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &two[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &two[1]);
  int* data[2] = {numbers(long_count, rank == 0 ? 1 : 0), numbers(long_count, rank == 0 ? 2 : 0)};
  MPI_Request requests[2];
  for (int turn = 0; turn < 2; ++turn) {
    int c = (turn + rank) % 2;
    MPI_Ibcast(data[c], long_count, MPI_INT, 0, two[c], &requests[c]);
  }
  MPI_Wait(&requests[(rank / 2) % 2], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1 - (rank / 2) % 2], MPI_STATUS_IGNORE);
  for (int c = 0; c < 2; ++c) expect(data[c][long_count - 1] == c + 1, "crossed: wrong data");
  MPI_Barrier(two[1]);
  MPI_Comm_free(&two[0]), MPI_Comm_free(&two[1]);
  free(data[0]), free(data[1]);
}

/* Thousands on one communicator, blocking ones of both kinds in between, completed backwards. */
static void many(void) {
  enum { calls = 2000 };
  static int values[calls], sums[calls];
  static MPI_Request requests[calls];
  for (int i = 0; i < calls; ++i) {
    values[i] = rank + i;
    if (i % 3 == 0) MPI_Ireduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, i % size, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 1) MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 2) MPI_Iscan(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    if (i % 500 == 499) MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = calls - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < calls; ++i) {
    int ranks = i % 3 == 2 ? rank + 1 : size, all = ranks * (ranks - 1) / 2 + ranks * i;
    if (i % 3 != 0 || rank == i % size) expect(sums[i] == all, "many: wrong sum");
  }
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[2 * i] += ((int*)in)[2 * i];
}

/* What calls use is freed before they are over: types, operations, the communicator. */
static void freed(void) {
  MPI_Comm comm;
  MPI_Datatype pairs;
  MPI_Op own;
  MPI_Request requests[2];
  int message[40], value[2] = {rank, -7}, sum[2] = {0, -7};
  for (int i = 0; i < 40; ++i) message[i] = rank == 0 ? i : -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_vector(20, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Op_create(add, 1, &own);
  MPI_Ibcast(message, 1, pairs, 0, comm, &requests[0]);
  MPI_Datatype element;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &element);
  MPI_Type_commit(&element);
  MPI_Iallreduce(value, sum, 1, element, own, comm, &requests[1]);
  MPI_Type_free(&pairs), MPI_Type_free(&element);
  MPI_Op_free(&own);
  expect(pairs == MPI_DATATYPE_NULL && own == MPI_OP_NULL, "freed: a handle stays");
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 40; ++i) expect(message[i] == (rank != 0 && (i % 2 || i > 38) ? -1 : i), "freed: wrong message");
  expect(sum[0] == size * (size - 1) / 2 && sum[1] == -7, "freed: wrong sum");
}

/* Requests of collectives and of messages in one array, with null requests among them. */
static void mixed(void) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size, from = -1, data = rank == 0 ? 9 : 0, done = 0;
  MPI_Request requests[5] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[5];
  MPI_Irecv(&from, 1, MPI_INT, previous, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]);
  MPI_Isend(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[3]);
  while (done < 4) {
    int some = 0, indices[5];
    MPI_Waitsome(5, requests, &some, indices, statuses);
    expect(some > 0, "mixed: none was done");
    for (int i = 0; i < some; ++i)
      if (indices[i] == 1)
        expect(statuses[i].MPI_SOURCE == previous && statuses[i].MPI_TAG == 3, "mixed: wrong status");
    done += some;
  }
  int none = 0, index = 0;
  MPI_Waitsome(5, requests, &none, &index, statuses);
  expect(none == MPI_UNDEFINED, "mixed: something is left");
  expect(from == previous && data == 9, "mixed: wrong data");
}

/* Nobody completes the last one: MPI calls that an error, but all ranks come to an end. */
static void abandoned(void) {
  static int value;
  MPI_Request request;
  value = rank;
  MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
}

static const struct {
  const char* name;
  void (*run)(int how);
  int hows;
} cases[] = {{"waiting", waiting_for, 3}, {"sending", sending, 4}};
static const struct {
  const char* name;
  void (*run)(void);
} plain[] = {{"first", first}, {"late", late},   {"crossed", crossed},    {"many", many},
             {"freed", freed}, {"mixed", mixed}, {"abandoned", abandoned}};

static int is_named(const char* name, int words, char** word) {
  for (int i = 1; i < words; ++i)
    if (strcmp(word[i], name) == 0) return 1;
  return words == 1;
}

int main(int words, char** word) {
  MPI_Init(&words, &word);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    for (int how = 0; is_named(cases[i].name, words, word) && how < cases[i].hows; ++how) {
      if (rank == size - 1) sleep_ms(2);
      cases[i].run(how);
    }
  for (size_t i = 0; i < sizeof plain / sizeof *plain; ++i)
    if (is_named(plain[i].name, words, word)) plain[i].run();
  if (rank == 0 && wrong == 0) printf("pending: right\n");
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
