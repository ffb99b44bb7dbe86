#include "smp/move/swap.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;
using plan::PairBlocks;

namespace {

/// A stretch of one block: what one cell carries for one reader.
struct Part {
  int turn;  ///< when it is served; the same for its writer and its reader
  int distance;
  Bytes offset;  ///< in the block
  Bytes bytes;
  int piece;
  Bytes skip;  ///< in the piece's cell
};

/// One writer's schedule: in round c everyone at distance 1, 2, … gets the c-th cell's worth of its block, as far as it
/// has that much. Parts of successive turns share a cell while they fit.
std::vector<Part> derive_parts(const Cells& cells, std::span<const Bytes> block_at) {
  std::vector<Part> parts;
  const int distances = static_cast<int>(block_at.size());
  Bytes most = 0, filled = 0;
  for (const Bytes block : block_at) most = std::max(most, block);
  int piece = 0, turn = 0;
  for (Bytes offset = 0; offset < most; offset += cells.bytes)
    for (int d = 0; d < distances; ++d, ++turn) {
      if (block_at[static_cast<std::size_t>(d)] <= offset) continue;
      const Bytes bytes = std::min(cells.bytes, block_at[static_cast<std::size_t>(d)] - offset);
      if (filled + bytes > cells.bytes) filled = 0, ++piece;
      parts.push_back({turn, d + 1, offset, bytes, piece, filled});
      filled += bytes;
    }
  return parts;
}

/// Where the parts of each piece begin, and the end.
std::vector<std::size_t> derive_pieces(const std::vector<Part>& parts) {
  std::vector<std::size_t> begin_of;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i == 0 || parts[i].piece != parts[i - 1].piece) begin_of.push_back(i);
  begin_of.push_back(parts.size());
  return begin_of;
}

std::span<const Part> parts_in(const std::vector<Part>& parts, const std::vector<std::size_t>& begin_of, int piece) {
  const auto at = static_cast<std::size_t>(piece);
  return std::span(parts).subspan(begin_of[at], begin_of[at + 1] - begin_of[at]);
}

class Swap {
 public:
  Swap(plan::Builder& builder, const PairBlocks& blocks)
      : builder_(builder), blocks_(blocks), ranks_(builder.topology().ranks_on(builder.node())) {}

  void through_cells(const Cells& cells) {
    const std::vector<Part> mine = parts_of(cells, builder_.local());
    const std::vector<Incoming> incoming = derive_incoming(cells, mine);
    const std::vector<std::size_t> begin_of = derive_pieces(mine);
    const int pieces = static_cast<int>(begin_of.size()) - 1;
    std::size_t taken = 0;
    for (int piece = 0; piece < pieces; ++piece) {
      // What comes in the turns of an earlier piece is taken first: others wait for those cells as we do for ours. All
      // waits are for earlier turns, so somebody can always go on.
      if (const int before = piece - pieces_ahead(cells); before >= 0) {
        const int turn = mine[begin_of[static_cast<std::size_t>(before) + 1] - 1].turn;
        while (taken < incoming.size() && incoming[taken].part.turn <= turn) get_part(cells, incoming[taken++]);
      }
      if (piece >= cells.count) await_readers(parts_in(mine, begin_of, piece - cells.count));
      put_piece(cells, parts_in(mine, begin_of, piece));
    }
    while (taken < incoming.size()) get_part(cells, incoming[taken++]);
    copy_own_block();
  }

  void by_single_copy() {
    builder_.expose();
    pair_sync(builder_, builder_.local(), 0);
    for (int distance = 1; distance < builder_.node_size(); ++distance) {
      const LocalRank owner = neighbour_at(builder_, -distance + builder_.node_size());
      const Bytes block = blocks_.bytes(rank_of(owner), builder_.me());
      if (block == 0) continue;
      pair_sync(builder_, owner, 0);
      builder_.pull(owner, Buffer::input, blocks_.input_begin(rank_of(owner), builder_.me()), Buffer::output,
                    blocks_.output_begin(rank_of(owner), builder_.me()), block);
    }
    taken_post(builder_, 0);
    copy_own_block();                           // while the neighbours are still reading
    builder_.await_neighbours(Flag::taken, 1);  // my input must stay until all have read it
  }

  void copy_own_block() {
    const Rank me = builder_.me();
    builder_.copy(Buffer::input, blocks_.input_begin(me, me), Buffer::output, blocks_.output_begin(me, me),
                  blocks_.bytes(me, me));
  }

 private:
  struct Incoming {
    LocalRank owner;
    Part part;
    bool is_used_again;  ///< the owner will want the cell back
  };

  Rank rank_of(LocalRank local) const { return ranks_[static_cast<std::size_t>(local.value)]; }
  LocalRank right_of(LocalRank local, int distance) const {
    return LocalRank((local.value + distance) % builder_.node_size());
  }

  std::vector<Bytes> blocks_of(LocalRank writer) const {
    std::vector<Bytes> block_at;
    for (int distance = 1; distance < builder_.node_size(); ++distance)
      block_at.push_back(blocks_.bytes(rank_of(writer), rank_of(right_of(writer, distance))));
    return block_at;
  }
  std::vector<Part> parts_of(const Cells& cells, LocalRank writer) const {
    return derive_parts(cells, blocks_of(writer));
  }

  /// What neighbours serve this rank, in the order of turns.
  std::vector<Incoming> derive_incoming(const Cells& cells, const std::vector<Part>& mine) const {
    std::vector<Incoming> incoming;
    const std::vector<Bytes> my_blocks = blocks_of(builder_.local());
    for (int distance = 1; distance < builder_.node_size(); ++distance) {
      const LocalRank owner = right_of(builder_.local(), builder_.node_size() - distance);
      const bool is_alike = blocks_of(owner) == my_blocks;  // always, unless blocks differ
      const std::vector<Part> theirs = is_alike ? std::vector<Part>{} : parts_of(cells, owner);
      const std::vector<Part>& parts = is_alike ? mine : theirs;
      for (const Part& part : parts)
        if (part.distance == distance)
          incoming.push_back({owner, part, part.piece + cells.count <= parts.back().piece});
    }
    std::sort(incoming.begin(), incoming.end(),
              [](const Incoming& a, const Incoming& b) { return a.part.turn < b.part.turn; });
    return incoming;
  }

  void await_readers(std::span<const Part> parts) {
    for (const Part& part : parts) await_taken(builder_, right_of(builder_.local(), part.distance), part.turn);
  }

  void put_piece(const Cells& cells, std::span<const Part> parts) {
    JoinedPuts puts(builder_, cells);
    for (const Part& part : parts) {
      const Rank reader = rank_of(right_of(builder_.local(), part.distance));
      const Bytes offset = blocks_.input_begin(builder_.me(), reader) + part.offset;
      puts.add(part.piece, {Buffer::input, offset, part.bytes}, part.skip);
    }
    puts.flush();
    pair_sync(builder_, builder_.local(), parts.front().piece);
  }

  void get_part(const Cells& cells, const Incoming& incoming) {
    const Part& part = incoming.part;
    pair_sync(builder_, incoming.owner, part.piece);
    group_seg_get(
        builder_, cells, incoming.owner, part.piece, part.skip,
        {Buffer::output, blocks_.output_begin(rank_of(incoming.owner), builder_.me()) + part.offset, part.bytes});
    if (incoming.is_used_again) taken_post(builder_, part.turn);
  }

  plan::Builder& builder_;
  const PairBlocks& blocks_;
  std::span<const Rank> ranks_;
};

}  // namespace

void swap_blocks(plan::Builder& builder, const plan::Choice& choice, const PairBlocks& blocks) {
  Swap swap(builder, blocks);
  if (builder.node_size() == 1)
    swap.copy_own_block();
  else if (choice.within == plan::Within::single_copy)
    swap.by_single_copy();
  else
    swap.through_cells(Cells{choice});
}

}  // namespace espalier::smp
