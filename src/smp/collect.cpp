#include "smp/collect.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// The largest block that has to reach the leader.
Bytes largest_block(const plan::Builder& builder, LocalRank leader, const NodeBlocks& blocks) {
  Bytes most = 0;
  for (int i = 0; i < builder.node_size(); ++i)
    if (LocalRank(i) != leader) most = std::max(most, blocks.bytes(LocalRank(i)));
  return most;
}

void send_through_cells(plan::Builder& builder, const Cells& cells, LocalRank leader, Bytes block) {
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    if (piece >= cells.count) await_taken(builder, leader, piece - cells.count);
    group_seg_put(builder, cells, piece, {Buffer::input, done, bytes});
    pair_sync(builder, builder.local(), piece);
    done += bytes;
  }
}

// Piece by piece over all ranks, so that every rank's pipeline keeps moving. Those that use no cell twice do not look
// at `taken`.
void take_from_cells(plan::Builder& builder, const Cells& cells, const NodeBlocks& blocks, Buffer into) {
  const Bytes most = largest_block(builder, builder.local(), blocks);
  int piece = 0;
  for (Bytes done = 0; done < most; done += cells.bytes, ++piece) {
    for (int i = 0; i < builder.node_size(); ++i) {
      const LocalRank owner(i);
      if (owner == builder.local() || blocks.bytes(owner) <= done) continue;
      pair_sync(builder, owner, piece);
      receiver_get(builder, cells, owner, piece, 0,
                   {into, blocks.begin(owner) + done, std::min(cells.bytes, blocks.bytes(owner) - done)});
    }
    if (most - done > cells.total()) taken_post(builder, piece);
  }
}

void push_block(plan::Builder& builder, LocalRank leader, const NodeBlocks& blocks, Buffer into) {
  const Bytes bytes = blocks.bytes(builder.local());
  if (bytes == 0) return;
  builder.await(leader, Flag::release, 1);
  builder.push(leader, into, blocks.begin(builder.local()), Buffer::input, 0, bytes);
  pair_sync(builder, builder.local(), 0);
}

void await_pushed(plan::Builder& builder, const NodeBlocks& blocks) {
  for (int i = 0; i < builder.node_size(); ++i)
    if (LocalRank(i) != builder.local() && blocks.bytes(LocalRank(i)) > 0) pair_sync(builder, LocalRank(i), 0);
}

}  // namespace

void collect_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, const NodeBlocks& blocks,
                    Buffer into) {
  const Cells cells{choice};
  const bool is_single_copy = choice.within == plan::Within::single_copy;
  if (builder.local() != leader) {
    if (is_single_copy) return push_block(builder, leader, blocks, into);
    return send_through_cells(builder, cells, leader, blocks.bytes(builder.local()));
  }
  if (is_single_copy && builder.node_size() > 1) {
    builder.expose();
    builder.post(Flag::release, 1);  // my buffer may be written now
  }
  builder.copy(Buffer::input, 0, into, blocks.begin(leader), blocks.bytes(leader));
  if (is_single_copy)
    await_pushed(builder, blocks);
  else
    take_from_cells(builder, cells, blocks, into);
}

}  // namespace espalier::smp
