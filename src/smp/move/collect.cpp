#include "smp/move/collect.hpp"

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

/// `before`: pieces that the leader counts as taken before this rank's first one.
void send_through_cells(plan::Builder& builder, const Cells& cells, LocalRank leader, Bytes block, int before = 0) {
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    if (piece >= cells.count) await_taken(builder, leader, before + piece - cells.count);
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

int count_pieces(const Cells& cells, Bytes block) { return static_cast<int>((block + cells.bytes - 1) / cells.bytes); }

/// Pieces that reach the leader before the first one of `rank`, block after block.
int count_before(const Cells& cells, LocalRank leader, const NodeBlocks& blocks, LocalRank rank) {
  int before = 0;
  for (int i = 0; i < rank.value; ++i)
    if (LocalRank(i) != leader) before += count_pieces(cells, blocks.bytes(LocalRank(i)));
  return before;
}

/// Block after block. Writers fill their cells ahead of their turn.
void take_in_turn(plan::Builder& builder, const Cells& cells, LocalRank owner, const NodeBlocks& blocks, Buffer into,
                  const std::function<void(Bytes)>& collected) {
  const int before = count_before(cells, builder.local(), blocks, owner);
  const Bytes block = blocks.bytes(owner), begin = blocks.begin(owner);
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    pair_sync(builder, owner, piece);
    receiver_get(builder, cells, owner, piece, 0, {into, begin + done, bytes});
    if (block > cells.total()) taken_post(builder, before + piece);
    done += bytes;
    collected(begin + done);
  }
}

void push_block(plan::Builder& builder, LocalRank leader, const NodeBlocks& blocks, Buffer into) {
  const Bytes bytes = blocks.bytes(builder.local());
  if (bytes == 0) return;
  builder.await(leader, Flag::release, 1);
  builder.push(leader, into, blocks.begin(builder.local()), Buffer::input, 0, bytes);
  pair_sync(builder, builder.local(), 0);
}

void await_pushed(plan::Builder& builder, LocalRank owner, const NodeBlocks& blocks) {
  if (owner != builder.local() && blocks.bytes(owner) > 0) pair_sync(builder, owner, 0);
}

void open_for_pushes(plan::Builder& builder) {
  if (builder.node_size() == 1) return;
  builder.expose();
  builder.post(Flag::release, 1);  // my buffer may be written now
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
  if (is_single_copy) open_for_pushes(builder);
  builder.copy(Buffer::input, 0, into, blocks.begin(leader), blocks.bytes(leader));
  if (!is_single_copy) return take_from_cells(builder, cells, blocks, into);
  for (int i = 0; i < builder.node_size(); ++i) await_pushed(builder, LocalRank(i), blocks);
}

void collect_in_turn(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, const NodeBlocks& blocks,
                     Buffer into, const std::function<void(Bytes)>& collected) {
  const Cells cells{choice};
  const bool is_single_copy = choice.within == plan::Within::single_copy;
  const LocalRank me = builder.local();
  if (me != leader) {
    if (is_single_copy) return push_block(builder, leader, blocks, into);
    return send_through_cells(builder, cells, leader, blocks.bytes(me), count_before(cells, leader, blocks, me));
  }
  if (is_single_copy) open_for_pushes(builder);
  builder.copy(Buffer::input, 0, into, blocks.begin(leader), blocks.bytes(leader));
  for (int i = 0; i < builder.node_size(); ++i) {
    const LocalRank owner(i);
    if (is_single_copy)
      await_pushed(builder, owner, blocks);
    else if (owner != leader)
      take_in_turn(builder, cells, owner, blocks, into, collected);
    collected(blocks.begin(owner) + blocks.bytes(owner));
  }
}

}  // namespace espalier::smp
