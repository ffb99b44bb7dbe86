#include "smp/move/exchange.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Blocks;
using plan::Buffer;
using plan::Flag;

namespace {

// On one node local ranks are ranks.
Rank rank_of(LocalRank local) { return Rank(local.value); }

Bytes largest_block(const plan::Builder& builder, const Blocks& blocks) {
  Bytes most = 0;
  for (int r = 0; r < builder.node_size(); ++r) most = std::max(most, blocks.bytes(Rank(r)));
  return most;
}

void copy_own_block(plan::Builder& builder, const Blocks& blocks) {
  builder.copy(Buffer::input, 0, Buffer::output, blocks.begin(builder.me()), blocks.bytes(builder.me()));
}

void put_piece(plan::Builder& builder, const Cells& cells, int piece, Bytes own) {
  const Bytes done = static_cast<Bytes>(piece) * cells.bytes;
  if (done >= own) return;
  await_free_cell(builder, cells, piece);
  group_seg_put(builder, cells, piece, {Buffer::input, done, std::min(cells.bytes, own - done)});
  pair_sync(builder, builder.local(), piece);
}

void get_piece(plan::Builder& builder, const Cells& cells, int piece, LocalRank owner, const Blocks& blocks) {
  const Bytes done = static_cast<Bytes>(piece) * cells.bytes;
  const Bytes block = blocks.bytes(rank_of(owner));
  if (done >= block) return;
  pair_sync(builder, owner, piece);
  receiver_get(builder, cells, owner, piece, 0,
               {Buffer::output, blocks.begin(rank_of(owner)) + done, std::min(cells.bytes, block - done)});
}

// Everyone counts pieces alike, also those who have none of them left: `taken` speaks for all writers at once.
void exchange_through_cells(plan::Builder& builder, const Cells& cells, const Blocks& blocks) {
  const Bytes own = blocks.bytes(builder.me());
  const auto pieces = static_cast<int>((largest_block(builder, blocks) + cells.bytes - 1) / cells.bytes);
  int next_put = 0;
  for (int piece = 0; piece < pieces; ++piece) {
    for (; next_put < std::min(pieces, piece + pieces_ahead(cells)); ++next_put)
      put_piece(builder, cells, next_put, own);
    for (int distance = 1; distance < builder.node_size(); ++distance)
      get_piece(builder, cells, piece, neighbour_at(builder, distance), blocks);
    if (piece + cells.count < pieces) taken_post(builder, piece);
  }
  copy_own_block(builder, blocks);
}

void exchange_single_copy(plan::Builder& builder, const Blocks& blocks) {
  builder.expose();
  pair_sync(builder, builder.local(), 0);
  for (int distance = 1; distance < builder.node_size(); ++distance) {
    const LocalRank owner = neighbour_at(builder, distance);
    const Bytes block = blocks.bytes(rank_of(owner));
    if (block == 0) continue;
    pair_sync(builder, owner, 0);
    builder.pull(owner, Buffer::input, 0, Buffer::output, blocks.begin(rank_of(owner)), block);
  }
  taken_post(builder, 0);
  copy_own_block(builder, blocks);           // while the neighbours are still reading
  builder.await_neighbours(Flag::taken, 1);  // my input must stay until all have read it
}

}  // namespace

void exchange_blocks(plan::Builder& builder, const plan::Choice& choice, const Blocks& blocks) {
  if (builder.node_size() == 1)
    copy_own_block(builder, blocks);
  else if (choice.within == plan::Within::single_copy)
    exchange_single_copy(builder, blocks);
  else
    exchange_through_cells(builder, Cells{choice}, blocks);
}

}  // namespace espalier::smp
