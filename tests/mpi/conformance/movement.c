#include "movement.h"

#include <stdlib.h>
#include <string.h>

#include "themes.h"

enum { guard_bytes = 64, most_ranks = 64 };

/* One side of a call: blocks of elements in one allocation with guards around it. */
struct side {
  MPI_Datatype type;
  int blocks;
  int counts[most_ranks];
  int displacements[most_ranks];
  unsigned char* base; /* owned */
  size_t bytes;
  unsigned char* origin; /* the address to hand to MPI */
};

static int type_size(MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return size;
}

/* Elements that `from` has for `to`. */
static int count_of(const struct movement_call* call, int from, int to) {
  if (!call->uneven) return call->count;
  if (call->movement == scatter || call->movement == allgather) from = call->movement == scatter ? call->root : from;
  if (call->movement == gather || call->movement == allgather) to = 0;
  /* In place, what a rank sends to another is as much as it gets from it. */
  int mix = call->in_place && call->movement == alltoall ? (from + to) * 5 + from * to : from * 7 + to * 3;
  return call->count * (mix % 5) / 2;
}

static uint64_t seed_of(const struct movement_call* call, int from, int to) {
  uint64_t seed = (uint64_t)call->count * 31 + (uint64_t)from * 1009;
  if (call->movement == scatter || call->movement == alltoall) seed += (uint64_t)to * 100003;
  for (const char* c = call->what; *c != '\0'; ++c) seed = seed * 31 + (unsigned char)*c;
  return seed;
}

static void place_blocks(struct side* side, int gap) {
  int next = 0;
  for (int i = 0; i < side->blocks; ++i) {
    int b = gap < 0 ? side->blocks - 1 - i : i;
    side->displacements[b] = next;
    next += side->counts[b] + (gap > 0 ? gap : 0);
  }
}

/* Allocates room for everything from the first block to the end of the last. */
static void allocate(struct side* side) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Type_get_extent(side->type, &lower, &extent);
  MPI_Type_get_true_extent(side->type, &true_lower, &true_extent);
  MPI_Aint elements = 1;
  for (int b = 0; b < side->blocks; ++b)
    if (side->displacements[b] + side->counts[b] > elements) elements = side->displacements[b] + side->counts[b];
  MPI_Aint first = true_lower < 0 ? true_lower : 0;
  MPI_Aint end = true_lower + true_extent + (elements - 1) * extent;
  side->bytes = (size_t)((end > 0 ? end : 0) - first) + 2 * guard_bytes;
  side->base = malloc(side->bytes);
  side->origin = side->base + guard_bytes - first;
  fill_pattern(side->base, side->bytes, 0x5151);
}

static struct side copy_of(const struct side* side) {
  struct side copy = *side;
  copy.base = malloc(copy.bytes);
  memcpy(copy.base, side->base, copy.bytes);
  copy.origin = copy.base + (side->origin - side->base);
  return copy;
}

static void fill_block(struct side* side, int block, uint64_t seed) {
  int bytes = type_size(side->type) * side->counts[block], position = 0;
  if (bytes == 0) return;
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(side->type, &lower, &extent);
  unsigned char* content = malloc((size_t)bytes);
  fill_pattern(content, (size_t)bytes, seed);
  MPI_Unpack(content, bytes, &position, side->origin + side->displacements[block] * extent, side->counts[block],
             side->type, MPI_COMM_SELF);
  free(content);
}

static struct side make_side(MPI_Datatype type, int blocks, int gap, const int* counts) {
  struct side side = {.type = type, .blocks = blocks};
  memcpy(side.counts, counts, (size_t)blocks * sizeof *counts);
  place_blocks(&side, gap);
  allocate(&side);
  return side;
}

/* The sender's and the receiver's blocks of this rank, filled on the sender's side. */
static struct side make_send(const struct movement_call* call, int me, int ranks) {
  int counts[most_ranks];
  const int blocks = call->movement == gather || call->movement == allgather ? 1 : ranks;
  for (int to = 0; to < blocks; ++to) counts[to] = count_of(call, me, to);
  struct side side = make_side(call->send, blocks, call->uneven ? call->gap : 0, counts);
  for (int to = 0; to < blocks; ++to) fill_block(&side, to, seed_of(call, me, to));
  return side;
}

static struct side make_receive(const struct movement_call* call, int me, int ranks) {
  int counts[most_ranks];
  const int blocks = call->movement == scatter ? 1 : ranks;
  for (int from = 0; from < blocks; ++from)
    counts[from] = call->movement == scatter ? count_of(call, call->root, me) : count_of(call, from, me);
  return make_side(call->receive, blocks, call->uneven ? call->gap : 0, counts);
}

static int run_uneven(const struct movement_call* call, struct side* from, struct side* into) {
  const void* sent = from->base != NULL ? (void*)from->origin : MPI_IN_PLACE;
  void* received = into->base != NULL ? (void*)into->origin : MPI_IN_PLACE;
  switch (call->movement) {
    case scatter:
      return MPI_Scatterv(sent, from->counts, from->displacements, from->type, received, into->counts[0], into->type,
                          call->root, call->comm);
    case gather:
      return MPI_Gatherv(sent, from->counts[0], from->type, received, into->counts, into->displacements, into->type,
                         call->root, call->comm);
    case allgather:
      return MPI_Allgatherv(sent, from->counts[0], from->type, received, into->counts, into->displacements, into->type,
                            call->comm);
    case alltoall:
      return MPI_Alltoallv(sent, from->counts, from->displacements, from->type, received, into->counts,
                           into->displacements, into->type, call->comm);
  }
  return MPI_ERR_OTHER;
}

static int run_even(const struct movement_call* call, struct side* from, struct side* into) {
  const void* sent = from->base != NULL ? (void*)from->origin : MPI_IN_PLACE;
  void* received = into->base != NULL ? (void*)into->origin : MPI_IN_PLACE;
  const int count = from->counts[0], receive_count = into->counts[0];
  switch (call->movement) {
    case scatter:
      return MPI_Scatter(sent, count, from->type, received, receive_count, into->type, call->root, call->comm);
    case gather:
      return MPI_Gather(sent, count, from->type, received, receive_count, into->type, call->root, call->comm);
    case allgather: return MPI_Allgather(sent, count, from->type, received, receive_count, into->type, call->comm);
    case alltoall: return MPI_Alltoall(sent, count, from->type, received, receive_count, into->type, call->comm);
  }
  return MPI_ERR_OTHER;
}

/* What MPI must not look at: nothing about it is valid. */
static struct side nonsense(void) {
  static unsigned char somewhere[1];
  struct side side = {.type = MPI_DATATYPE_NULL, .blocks = most_ranks, .base = somewhere, .origin = NULL};
  for (int i = 0; i < most_ranks; ++i) side.counts[i] = side.displacements[i] = -7;
  return side;
}

static void compare(const struct movement_call* call, const char* side_name, const struct side* got,
                    const struct side* expected, int code) {
  size_t at = memcmp(got->base, expected->base, got->bytes) == 0 ? got->bytes : 0;
  while (at < got->bytes && got->base[at] == expected->base[at]) ++at;
  check(code == MPI_SUCCESS && at == got->bytes,
        "%s: movement %d%s%s, count %d, gap %d, root %d: code %d, %s buffer differs from byte %td of %zu", call->what,
        call->movement, call->uneven ? "v" : "", call->in_place ? " in place" : "", call->count, call->gap, call->root,
        code, side_name, (unsigned char*)got->base + at - got->origin, got->bytes);
}

/* The receive side as it must look afterwards. `own` is the block that lies there already in place, or -1. */
static struct side expect(const struct movement_call* call, const struct side* receive, int me) {
  struct side expected = copy_of(receive);
  for (int from = 0; from < expected.blocks; ++from)
    fill_block(&expected, from, seed_of(call, call->movement == scatter ? call->root : from, me));
  return expected;
}

void check_movement(struct movement_call call) {
  if (!is_next_in_part()) return;
  int me = 0, ranks = 0;
  MPI_Comm_rank(call.comm, &me);
  MPI_Comm_size(call.comm, &ranks);
  const int is_root = me == call.root;
  const int sends = call.movement != scatter || is_root, receives = call.movement != gather || is_root;
  const int is_rooted = call.movement == scatter || call.movement == gather;
  const int in_place = call.in_place && (!is_rooted || is_root);
  struct side send = sends ? make_send(&call, me, ranks) : nonsense();
  struct side receive = receives ? make_receive(&call, me, ranks) : nonsense();
  struct side expected = receives ? expect(&call, &receive, me) : receive;
  struct side sent = sends ? copy_of(&send) : send;
  struct side from = send, into = receive;
  if (in_place && call.movement == scatter) {
    into = (struct side){.type = MPI_DATATYPE_NULL};
  } else if (in_place) {
    if (call.movement == alltoall) /* what goes to a rank lies where its answer will */
      for (int to = 0; to < ranks; ++to) fill_block(&receive, to, seed_of(&call, me, to));
    else
      fill_block(&receive, me, seed_of(&call, me, 0));
    from = (struct side){.type = MPI_DATATYPE_NULL};
  }
  const int code = call.uneven ? run_uneven(&call, &from, &into) : run_even(&call, &from, &into);
  if (receives && !(in_place && call.movement == scatter)) compare(&call, "receive", &receive, &expected, code);
  if (sends) compare(&call, "send", &send, &sent, code);
  if (sends) free(send.base), free(sent.base);
  if (receives) free(receive.base), free(expected.base);
}
