#include "smp/operations.hpp"

namespace espalier::smp {

using plan::Flag;

void sender_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from, Bytes skip) {
  builder.claim_window();
  builder.put(from.buffer, from.offset, from.bytes, cells.offset(piece) + skip);
}

void receiver_get(plan::Builder& builder, const Cells& cells, LocalRank owner, int piece, Bytes skip,
                  const Range& into) {
  if (into.bytes > 0) builder.get(owner, cells.offset(piece) + skip, into.buffer, into.offset, into.bytes);
}

void pair_sync(plan::Builder& builder, LocalRank writer, int piece) {
  if (builder.local() == writer)
    builder.post(Flag::ready, tick(piece));
  else
    builder.await(writer, Flag::ready, tick(piece));
}

void group_get(plan::Builder& builder, const Cells& cells, LocalRank writer, int piece, Bytes offset, Bytes bytes,
               const Placement& placement) {
  if (builder.local() == writer) return;
  placement.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes part) {
    receiver_get(builder, cells, writer, piece, from - offset, {plan::Buffer::output, to, part});
  });
}

void group_seg_get(plan::Builder& builder, const Cells& cells, LocalRank writer, int piece, Bytes skip,
                   const Range& into) {
  if (builder.local() != writer) receiver_get(builder, cells, writer, piece, skip, into);
}

void group_seg_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from) {
  if (from.bytes > 0) sender_put(builder, cells, piece, from);
}

void group_sync(plan::Builder& builder, int piece) {
  pair_sync(builder, builder.local(), piece);
  builder.await_neighbours(Flag::ready, tick(piece));
}

void JoinedPuts::add(int piece, const Range& from, Bytes skip) {
  if (from.bytes == 0) return;
  if (pending_.bytes > 0 && piece == piece_ && pending_.buffer == from.buffer &&
      pending_.offset + pending_.bytes == from.offset && skip_ + pending_.bytes == skip) {
    pending_.bytes += from.bytes;
    return;
  }
  flush();
  piece_ = piece;
  pending_ = from;
  skip_ = skip;
}

void JoinedPuts::flush() {
  if (pending_.bytes > 0) sender_put(builder_, cells_, piece_, pending_, skip_);
  pending_.bytes = 0;
}

LocalRank neighbour_at(const plan::Builder& builder, int distance) {
  return LocalRank((builder.local().value + distance) % builder.node_size());
}

void taken_post(plan::Builder& builder, int piece) { builder.post(Flag::taken, tick(piece)); }

void await_taken(plan::Builder& builder, LocalRank reader, int piece) {
  builder.await(reader, Flag::taken, tick(piece));
}

void await_free_cell(plan::Builder& builder, const Cells& cells, int piece) {
  if (piece >= cells.count) builder.await_neighbours(Flag::taken, tick(piece - cells.count));
}

}  // namespace espalier::smp
