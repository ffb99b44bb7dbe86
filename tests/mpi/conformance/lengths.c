#include <stdlib.h>

#include "check.h"
#include "exchange.h"
#include "themes.h"

/* Receivers with more room than is sent to them: erroneous by the standard's letter, harmless under every MPI, and
 * found in programs. What was sent arrives, what was not stays as it was, and the communicator goes on. With less room
 * (theme `truncations`, which not every MPI survives) an error says so, and nobody hangs. */

enum { fill = -7 };

static int rank, size;
static int *sent, *got;

static int value_of(int from, int to, int i) { return from * 1000003 + to * 10007 + i; }

static void forget(long ints) {
  for (long i = 0; i < ints; ++i) got[i] = fill;
}

/* `block` begins with what `from` sent to `to`, and is untouched behind it. */
static void check_block(const char* what, const int* block, int from, int to, int count, int room) {
  for (int i = 0; i < room; ++i) {
    const int expected = i < count ? value_of(from, to, i) : fill;
    if (block[i] == expected) continue;
    check(0, "%s: %d ints in room for %d, from %d to %d: %d at %d instead of %d", what, count, room, from, to, block[i],
          i, expected);
    return;
  }
}

static void check_success(const char* what, int code, int count, int room) {
  check(code == MPI_SUCCESS, "%s: %d ints in room for %d: error %d", what, count, room, code);
}

static void prepare(int to_all, int count, int room) {
  for (int to = 0; to < size; ++to)
    for (int i = 0; i < count; ++i) sent[(long)to * count + i] = value_of(rank, to_all ? 0 : to, i);
  forget((long)size * room);
}

static void from_one(MPI_Comm comm, int root, int count, int room) {
  const int is_root = rank == root;
  forget(room);
  for (int i = 0; is_root && i < count; ++i) got[i] = value_of(root, 0, i);
  check_success("broadcast", MPI_Bcast(got, is_root ? count : room, MPI_INT, root, comm), count, room);
  check_block("broadcast", got, root, 0, count, room);

  prepare(0, count, room);
  check_success("scatter", MPI_Scatter(sent, count, MPI_INT, got, room, MPI_INT, root, comm), count, room);
  check_block("scatter", got, root, rank, count, room);

  prepare(0, count, room);
  void* const own = is_root ? MPI_IN_PLACE : got;
  check_success("scatter in place", MPI_Scatter(sent, count, MPI_INT, own, room, MPI_INT, root, comm), count, room);
  if (!is_root) check_block("scatter in place", got, root, rank, count, room);
}

static void to_one(MPI_Comm comm, int root, int count, int room) {
  const int is_root = rank == root;
  prepare(1, count, room);
  check_success("gather", MPI_Gather(sent, count, MPI_INT, got, room, MPI_INT, root, comm), count, room);
  for (int r = 0; is_root && r < size; ++r) check_block("gather", got + (long)r * room, r, 0, count, room);
}

/* The root brings its own block in place, so that nothing tells it what others send. */
static void to_one_in_place(MPI_Comm comm, int root, int count, int room) {
  const int is_root = rank == root;
  prepare(1, count, room);
  for (int i = 0; is_root && i < room; ++i) got[(long)root * room + i] = value_of(root, 0, i);
  check_success("gather in place",
                MPI_Gather(is_root ? MPI_IN_PLACE : sent, count, MPI_INT, got, room, MPI_INT, root, comm), count, room);
  for (int r = 0; is_root && r < size; ++r)
    check_block("gather in place", got + (long)r * room, r, 0, r == root ? room : count, room);
}

static void to_all(MPI_Comm comm, int count, int room) {
  prepare(1, count, room);
  check_success("allgather", MPI_Allgather(sent, count, MPI_INT, got, room, MPI_INT, comm), count, room);
  for (int r = 0; r < size; ++r) check_block("allgather", got + (long)r * room, r, 0, count, count);
}

static void all_to_all(MPI_Comm comm, int count, int room) {
  prepare(0, count, room);
  check_success("alltoall", MPI_Alltoall(sent, count, MPI_INT, got, room, MPI_INT, comm), count, room);
  for (int r = 0; r < size; ++r) check_block("alltoall", got + (long)r * room, r, rank, count, room);
}

static void with_counts(MPI_Comm comm, int root, int count, int room) {
  int *counts = malloc(sizeof(int) * size), *rooms = malloc(sizeof(int) * size), *at = malloc(sizeof(int) * size),
      *begin = malloc(sizeof(int) * size);
  for (int r = 0; r < size; ++r) counts[r] = count, rooms[r] = room, at[r] = r * count, begin[r] = r * room;
  prepare(0, count, room);
  check_success("scatterv", MPI_Scatterv(sent, counts, at, MPI_INT, got, room, MPI_INT, root, comm), count, room);
  check_block("scatterv", got, root, rank, count, room);

  prepare(1, count, room);
  check_success("gatherv", MPI_Gatherv(sent, count, MPI_INT, got, rooms, begin, MPI_INT, root, comm), count, room);
  for (int r = 0; rank == root && r < size; ++r) check_block("gatherv", got + (long)r * room, r, 0, count, count);

  prepare(0, count, room);
  check_success("alltoallv", MPI_Alltoallv(sent, counts, at, MPI_INT, got, rooms, begin, MPI_INT, comm), count, room);
  for (int r = 0; r < size; ++r) check_block("alltoallv", got + (long)r * room, r, rank, count, room);
  free(counts), free(rooms), free(at), free(begin);
}

/* Layouts that have to be unpacked: every second int. */
static void with_gaps(MPI_Comm comm, int root, int count, int room) {
  MPI_Datatype every_second;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
  MPI_Type_commit(&every_second);
  prepare(0, count, 2 * room);
  check_success("scatter with gaps", MPI_Scatter(sent, count, MPI_INT, got, room, every_second, root, comm), count,
                room);
  for (int i = 0; i < 2 * room; ++i) {
    const int expected = i % 2 == 0 && i / 2 < count ? value_of(root, rank, i / 2) : fill;
    if (got[i] != expected) {
      check(0, "scatter with gaps: %d ints in room for %d: %d at %d", count, room, got[i], i);
      break;
    }
  }
  MPI_Type_free(&every_second);
}

static const int counts[] = {1, 3, 10, 250, 700, 1500, 16384, 262144};
enum { most = 262144, cases = sizeof counts / sizeof counts[0] };

static int begin(MPI_Comm* comm) {
  MPI_Comm_dup(MPI_COMM_WORLD, comm);
  MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(*comm, &rank), MPI_Comm_size(*comm, &size);
  for (int i = 0; i < 20; ++i) MPI_Barrier(*comm); /* native may do the first calls of a communicator */
  const long room_for_all = 4L * most * size;
  sent = malloc(sizeof(int) * (size_t)most * size), got = malloc(sizeof(int) * (size_t)room_for_all);
  return size > 1 && size <= 8;
}

static void end(MPI_Comm* comm) {
  free(sent), free(got);
  MPI_Comm_free(comm);
}

static void more_room(MPI_Comm comm, int root, int count, int room) {
  from_one(comm, root, count, room);
  to_one(comm, root, count, room);
  to_all(comm, count, room);
  all_to_all(comm, count, room);
  with_counts(comm, root, count, room);
  with_gaps(comm, root, count, room);
  check_communicator("after calls with more room than was sent", comm);
}

void theme_lengths(void) {
  MPI_Comm comm;
  if (begin(&comm)) {
    for (int c = 0; c < cases; ++c)
      for (int root = 0; root < size; root += size - 1) {
        more_room(comm, root, counts[c], counts[c] + 1);
        more_room(comm, root, counts[c], 2 * counts[c]);
        to_one_in_place(comm, root, counts[c], counts[c] + 1);
        check_communicator("after a gather in place with more room", comm);
      }
    more_room(comm, 0, 1, most); /* the room that was enough for all */
    more_room(comm, size - 1, 1500, most);
  }
  end(&comm);
}

/* ---- less room ---- */

static void check_truncated(const char* what, int code, int is_concerned, int count, int room) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (is_concerned) check(class == MPI_ERR_TRUNCATE, "%s: %d ints in room for %d: class %d", what, count, room, class);
}

static void less_room(MPI_Comm comm, int root, int count, int room) {
  const int is_root = rank == root;
  check_truncated("broadcast", MPI_Bcast(got, is_root ? count : room, MPI_INT, root, comm), !is_root, count, room);
  prepare(0, count, room);
  check_truncated("scatter", MPI_Scatter(sent, count, MPI_INT, got, room, MPI_INT, root, comm), 1, count, room);
  check_truncated("gather", MPI_Gather(sent, count, MPI_INT, got, room, MPI_INT, root, comm), is_root, count, room);
  check_truncated("allgather", MPI_Allgather(sent, count, MPI_INT, got, room, MPI_INT, comm), 1, count, room);
  check_truncated("alltoall", MPI_Alltoall(sent, count, MPI_INT, got, room, MPI_INT, comm), 1, count, room);
  /* The last rank alone has less room than the others. */
  const int is_last = rank == size - 1, own = is_last ? room : count;
  if (root != size - 1) {
    check_truncated("broadcast, one rank", MPI_Bcast(got, own, MPI_INT, root, comm), is_last, count, room);
    check_truncated("scatter, one rank", MPI_Scatter(sent, count, MPI_INT, got, own, MPI_INT, root, comm), is_last,
                    count, room);
  }
  for (long i = (long)size * count; i < (long)size * count + 16; ++i)
    check(got[i] == fill, "less room: something was written behind the data");
  check_communicator("after calls with less room than was sent", comm);
}

/* On one node: one rank alone has another size than the others, in the first call of a communicator, which has to be
 * supplied with memory for it. Nobody hangs, and the communicator goes on. */
static void odd_rank(int operation, int count) {
  const int is_odd = rank == size - 1;
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  if (operation == 0) MPI_Alltoall(sent, is_odd ? count / 2 : count, MPI_INT, got, count, MPI_INT, own);
  if (operation == 1) MPI_Allgather(sent, is_odd ? 2 * count : count, MPI_INT, got, count, MPI_INT, own);
  if (operation == 2) MPI_Allreduce(sent, got, is_odd ? count / 2 : count, MPI_INT, MPI_SUM, own);
  if (operation == 3) MPI_Gather(sent, is_odd ? count / 2 : count, MPI_INT, got, count, MPI_INT, 0, own);
  if (operation == 4) MPI_Gather(sent, rank == 0 ? 0 : count, MPI_INT, got, count, MPI_INT, 0, own);
  check_communicator("after a call with an odd rank", own);
  MPI_Comm_free(&own);
}

void theme_truncations(void) {
  MPI_Comm comm;
  if (begin(&comm)) {
    forget(2 * (long)most * size);
    for (int c = 1; c < cases; ++c)
      for (int root = 0; root < size; root += size - 1) {
        less_room(comm, root, counts[c], counts[c] - 1);
        less_room(comm, root, counts[c], 1);
      }
    for (int operation = 0; operation < 5 && getenv("ESPALIER_VIRTUAL_NODES") == NULL; ++operation)
      for (int c = 1; counts[c] <= 16384; ++c) odd_rank(operation, counts[c]), odd_rank(operation, 100);
  }
  end(&comm);
}
