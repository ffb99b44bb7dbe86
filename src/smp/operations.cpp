#include "smp/operations.hpp"

namespace espalier::smp {

using plan::Flag;

namespace {
// Ticks start at 1: a flag that was never posted in this call stands below every tick of it.
std::uint64_t tick(int piece) { return static_cast<std::uint64_t>(piece) + 1; }
}  // namespace

void sender_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from) {
  builder.claim_window();
  builder.put(from.buffer, from.offset, from.bytes, cells.offset(piece));
}

void receiver_get(plan::Builder& builder, const Cells& cells, LocalRank owner, int piece, Bytes skip,
                  const Range& into) {
  builder.get(owner, cells.offset(piece) + skip, into.buffer, into.offset, into.bytes);
}

void pair_sync_post(plan::Builder& builder, int piece) { builder.post(Flag::ready, tick(piece)); }

void pair_sync_await(plan::Builder& builder, LocalRank writer, int piece) {
  builder.await(writer, Flag::ready, tick(piece));
}

void group_sync(plan::Builder& builder, int piece) {
  pair_sync_post(builder, piece);
  builder.await_neighbours(Flag::ready, tick(piece));
}

void taken_post(plan::Builder& builder, int piece) { builder.post(Flag::taken, tick(piece)); }

void await_free_cell(plan::Builder& builder, const Cells& cells, int piece) {
  if (piece >= cells.count) builder.await_neighbours(Flag::taken, tick(piece - cells.count));
}

}  // namespace espalier::smp
