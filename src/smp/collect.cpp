#include "smp/collect.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

Bytes place_of(LocalRank rank, Bytes block, Bytes offset) { return offset + static_cast<Bytes>(rank.value) * block; }

void send_through_cells(plan::Builder& builder, const Cells& cells, LocalRank leader, Bytes block) {
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    if (piece >= cells.count) builder.await(leader, Flag::taken, static_cast<std::uint64_t>(piece - cells.count) + 1);
    sender_put(builder, cells, piece, {Buffer::input, done, bytes});
    pair_sync_post(builder, piece);
    done += bytes;
  }
}

// Piece by piece over all ranks, so that every rank's pipeline keeps moving.
void take_from_cells(plan::Builder& builder, const Cells& cells, Bytes block, Buffer into, Bytes offset) {
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    for (int i = 0; i < builder.node_size(); ++i) {
      if (LocalRank(i) == builder.local()) continue;
      pair_sync_await(builder, LocalRank(i), piece);
      receiver_get(builder, cells, LocalRank(i), piece, 0, {into, place_of(LocalRank(i), block, offset) + done, bytes});
    }
    taken_post(builder, piece);
    done += bytes;
  }
}

void push_block(plan::Builder& builder, LocalRank leader, Bytes block, Buffer into, Bytes offset) {
  builder.await(leader, Flag::release, 1);
  builder.push(leader, into, place_of(builder.local(), block, offset), Buffer::input, 0, block);
  pair_sync_post(builder, 0);
}

}  // namespace

void collect_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, Bytes block, Buffer into,
                    Bytes offset) {
  const Cells cells{choice.cell, choice.cells};
  const bool is_leader = builder.local() == leader;
  const bool is_single_copy = choice.within == plan::Within::single_copy;
  if (is_leader && is_single_copy && builder.node_size() > 1) {
    builder.expose();
    builder.post(Flag::release, 1);  // my buffer may be written now
  }
  if (is_leader) builder.copy(Buffer::input, 0, into, place_of(leader, block, offset), block);
  if (is_leader && is_single_copy)
    builder.await_neighbours(Flag::ready, 1);
  else if (is_leader)
    take_from_cells(builder, cells, block, into, offset);
  else if (is_single_copy)
    push_block(builder, leader, block, into, offset);
  else
    send_through_cells(builder, cells, leader, block);
}

}  // namespace espalier::smp
