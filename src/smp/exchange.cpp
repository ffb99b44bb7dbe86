#include "smp/exchange.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

// The neighbour `distance` places to the right on the node.
LocalRank neighbour_at(const plan::Builder& builder, int distance) {
  return LocalRank((builder.local().value + distance) % builder.node_size());
}

void copy_own_block(plan::Builder& builder, Bytes block) {
  builder.copy(Buffer::input, 0, Buffer::output, static_cast<Bytes>(builder.local().value) * block, block);
}

void exchange_through_cells(plan::Builder& builder, const Cells& cells, Bytes block) {
  int piece = 0;
  for (Bytes done = 0; done < block; ++piece) {
    const Bytes bytes = std::min(cells.bytes, block - done);
    await_free_cell(builder, cells, piece);
    sender_put(builder, cells, piece, {Buffer::input, done, bytes});
    pair_sync_post(builder, piece);
    for (int distance = 1; distance < builder.node_size(); ++distance) {
      const LocalRank owner = neighbour_at(builder, distance);
      pair_sync_await(builder, owner, piece);
      receiver_get(builder, cells, owner, piece, 0,
                   {Buffer::output, static_cast<Bytes>(owner.value) * block + done, bytes});
    }
    taken_post(builder, piece);
    done += bytes;
  }
  copy_own_block(builder, block);
}

void exchange_single_copy(plan::Builder& builder, Bytes block) {
  builder.expose();
  pair_sync_post(builder, 0);
  for (int distance = 1; distance < builder.node_size(); ++distance) {
    const LocalRank owner = neighbour_at(builder, distance);
    pair_sync_await(builder, owner, 0);
    builder.pull(owner, Buffer::input, 0, Buffer::output, static_cast<Bytes>(owner.value) * block, block);
  }
  taken_post(builder, 0);
  copy_own_block(builder, block);            // while the neighbours are still reading
  builder.await_neighbours(Flag::taken, 1);  // my input must stay until all have read it
}

}  // namespace

void exchange_blocks(plan::Builder& builder, const plan::Choice& choice, Bytes block) {
  if (choice.within == plan::Within::single_copy)
    exchange_single_copy(builder, block);
  else
    exchange_through_cells(builder, {choice.cell, choice.cells}, block);
}

}  // namespace espalier::smp
