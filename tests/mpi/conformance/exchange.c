#define _POSIX_C_SOURCE 200809L
#include "exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { guard_bytes = 64 };

struct entry_points under_test = {MPI_Bcast, MPI_Allgather, MPI_Barrier};

struct layout plain_bytes(int bytes) {
  return (struct layout){MPI_BYTE, bytes, 0};
}

/* ---- memory with guards ---------------------------------------------------------------------------------------- */

/* An allocation that holds `count` elements of a type and a guard on either side. */
struct region {
  unsigned char* base; /* owned */
  size_t bytes;
  unsigned char* origin; /* the address to hand to MPI; may lie outside the allocation for odd lower bounds */
};

static MPI_Aint least(MPI_Aint a, MPI_Aint b) { return a < b ? a : b; }

static struct region make_region(MPI_Datatype type, size_t count, unsigned misalignment) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  MPI_Aint last = count > 0 ? (MPI_Aint)(count - 1) * extent : 0;
  MPI_Aint first_byte = count > 0 ? least(true_lower, true_lower + last) : 0;
  MPI_Aint end_byte = count > 0 ? -least(-(true_lower + true_extent), -(true_lower + true_extent + last)) : 0;
  struct region made;
  made.bytes = (size_t)(end_byte - first_byte) + 2 * guard_bytes + misalignment;
  made.base = malloc(made.bytes);
  made.origin = made.base + guard_bytes + misalignment - first_byte;
  fill_pattern(made.base, made.bytes, 0x6b6b6b);
  return made;
}

/* Writes `bytes` into the elements [first, first + count) of a region, as a correct receive would. */
static void place(const unsigned char* bytes, MPI_Datatype type, size_t first, int count, struct region into) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0, position = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  if (size == 0 || count == 0) return;
  MPI_Unpack((void*)bytes, size * count, &position, into.origin + (MPI_Aint)first * extent, count, type, MPI_COMM_SELF);
}

static size_t payload_bytes(struct layout of) {
  int size = 0;
  MPI_Type_size(of.type, &size);
  return (size_t)size * (size_t)of.count;
}

/* What to pass to MPI for a layout that starts at `address`: the pair itself, or MPI_BOTTOM and an absolute type. */
struct argument {
  void* buffer;
  int count;
  MPI_Datatype type;
};

static struct argument make_argument(struct layout of, void* address) {
  if (!of.absolute) return (struct argument){address, of.count, of.type};
  MPI_Aint displacement = 0;
  struct argument made = {MPI_BOTTOM, 1, MPI_DATATYPE_NULL};
  MPI_Get_address(address, &displacement);
  MPI_Type_create_hindexed(1, &of.count, &displacement, of.type, &made.type);
  MPI_Type_commit(&made.type);
  return made;
}

static void free_argument(struct layout of, struct argument* made) {
  if (of.absolute) MPI_Type_free(&made->type);
}

/* ---- fresh content for every call ------------------------------------------------------------------------------- */

static int free_counter(MPI_Comm comm, int key, void* counter, void* extra) {
  (void)comm, (void)key, (void)extra;
  free(counter);
  return MPI_SUCCESS;
}

/* Counts the checked calls of a communicator, in an attribute: the members make them in one order, so they agree on the
 * number, and no two calls carry the same content (data left over from an earlier call would pass for correct). */
static uint64_t next_seed(const char* what, MPI_Comm comm) {
  static int key = MPI_KEYVAL_INVALID; /* first used by main's thread, before any theme starts others */
  if (key == MPI_KEYVAL_INVALID) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_counter, &key, NULL);
  uint64_t* counter = NULL;
  int found = 0;
  MPI_Comm_get_attr(comm, key, &counter, &found);
  if (!found) {
    counter = calloc(1, sizeof *counter);
    MPI_Comm_set_attr(comm, key, counter);
  }
  uint64_t seed = ++*counter;
  for (const char* c = what; *c != '\0'; ++c) seed = seed * 31 + (unsigned char)*c;
  return next_random(&seed);
}

static unsigned char* make_content(size_t bytes, uint64_t seed) {
  unsigned char* content = malloc(bytes + 1);
  fill_pattern(content, bytes, seed);
  return content;
}

/* Buffers need not be aligned; plain bytes are moved to an odd address every other call. */
static unsigned misalign(struct layout of, uint64_t seed) {
  return of.type == MPI_BYTE && (seed & 1) ? 1 + (unsigned)(seed >> 8) % 63 : 0;
}

static void compare(const char* what, const char* operation, struct layout of, int code, struct region got,
                    struct region expected) {
  int same = memcmp(got.base, expected.base, got.bytes) == 0;
  size_t at = 0;
  while (!same && got.base[at] == expected.base[at]) ++at;
  check(code == MPI_SUCCESS && same, "%s: %s of %zu bytes: code %d, %s data (from byte %td)", what, operation,
        payload_bytes(of), code, same ? "right" : "wrong", got.base + at - got.origin);
  free(got.base);
  free(expected.base);
}

/* ---- the three operations ---------------------------------------------------------------------------------------- */

void check_broadcast(const char* what, struct layout mine, int root, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  uint64_t seed = next_seed(what, comm);
  unsigned char* content = make_content(payload_bytes(mine), seed);
  unsigned odd = misalign(mine, seed + (uint64_t)rank * 0x10101);
  struct region buffer = make_region(mine.type, (size_t)mine.count, odd);
  struct region expected = make_region(mine.type, (size_t)mine.count, odd);
  place(content, mine.type, 0, mine.count, expected);
  if (rank == root) place(content, mine.type, 0, mine.count, buffer);
  struct argument argument = make_argument(mine, buffer.origin);
  int code = under_test.broadcast(argument.buffer, argument.count, argument.type, root, comm);
  free_argument(mine, &argument);
  compare(what, "broadcast", mine, code, buffer, expected);
  free(content);
}

/* Both forms of allgather; `send` is null for MPI_IN_PLACE. */
static void run_allgather(const char* what, const struct layout* send, struct layout receive, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  uint64_t seed = next_seed(what, comm);
  size_t elements = (size_t)receive.count * (size_t)size;
  unsigned odd = misalign(receive, seed + (uint64_t)rank * 0x10101);
  struct region buffer = make_region(receive.type, elements, odd);
  struct region expected = make_region(receive.type, elements, odd);
  for (int peer = 0; peer < size; ++peer) {
    unsigned char* content = make_content(payload_bytes(receive), seed + (uint64_t)peer);
    place(content, receive.type, (size_t)peer * (size_t)receive.count, receive.count, expected);
    if (send == NULL && peer == rank)
      place(content, receive.type, (size_t)peer * (size_t)receive.count, receive.count, buffer);
    free(content);
  }
  struct argument into = make_argument(receive, buffer.origin);
  int code = MPI_SUCCESS;
  if (send == NULL) {
    code = under_test.allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into.buffer, into.count, into.type, comm);
  } else {
    unsigned char* content = make_content(payload_bytes(*send), seed + (uint64_t)rank);
    struct region source = make_region(send->type, (size_t)send->count, 0);
    place(content, send->type, 0, send->count, source);
    struct argument from = make_argument(*send, source.origin);
    code = under_test.allgather(from.buffer, from.count, from.type, into.buffer, into.count, into.type, comm);
    free_argument(*send, &from);
    free(source.base);
    free(content);
  }
  free_argument(receive, &into);
  compare(what, send == NULL ? "allgather in place" : "allgather", receive, code, buffer, expected);
}

void check_allgather(const char* what, struct layout send, struct layout receive, MPI_Comm comm) {
  run_allgather(what, &send, receive, comm);
}

void check_allgather_in_place(const char* what, struct layout receive, MPI_Comm comm) {
  run_allgather(what, NULL, receive, comm);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void check_barrier(const char* what, MPI_Comm comm) {
  double entered = now();
  int code = under_test.barrier(comm);
  double left = now();
  double last_entry = 0, first_exit = 0;
  PMPI_Allreduce(&entered, &last_entry, 1, MPI_DOUBLE, MPI_MAX, comm);
  PMPI_Allreduce(&left, &first_exit, 1, MPI_DOUBLE, MPI_MIN, comm);
  check(code == MPI_SUCCESS && last_entry <= first_exit, "%s: barrier: code %d, left %g s before the last entry", what,
        code, last_entry - first_exit);
}

void check_communicator(const char* what, MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  check_broadcast(what, plain_bytes(24), 0, comm);
  check_broadcast(what, plain_bytes(777), size - 1, comm);
  check_allgather(what, plain_bytes(40), plain_bytes(40), comm);
  check_barrier(what, comm);
}
