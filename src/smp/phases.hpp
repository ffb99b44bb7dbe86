#pragma once
// Phases of a node in which any ranks write and any ranks read, all through the same cells.

#include <algorithm>

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Every rank of the node calls the same phases in the same order. In a phase each rank has one stretch (maybe empty)
/// for others; its pieces go through its cells round by round: in round k everyone puts its k-th piece and reads the
/// k-th pieces that it wants, so that nobody is more than the number of cells ahead of anybody.
class Phases {
 public:
  Phases(plan::Builder& builder, const Cells& cells) : builder_(builder), cells_(cells) {}

  /// `bytes_of(local rank)`: the length of each rank's stretch, equal on all ranks. `own`: this rank's. For each piece
  /// of each rank, own included, `take(writer, offset, bytes, get)` may call `get(into, skip)` for the parts it wants:
  /// `offset` is the piece's place in the writer's stretch, `skip` that of a part in the piece.
  template <class BytesOf, class Take>
  void run(BytesOf bytes_of, const Range& own, Take take) {
    const int ranks = builder_.node_size();
    Bytes most = 0;
    for (int r = 0; r < ranks; ++r) most = std::max(most, bytes_of(LocalRank(r)));
    for (Bytes offset = 0; offset < most; offset += cells_.bytes, ++piece_) {
      if (offset < own.bytes) put(own, offset);
      for (int distance = 1; distance <= ranks; ++distance) {
        const LocalRank writer = neighbour_at(builder_, distance);
        if (offset >= bytes_of(writer)) continue;
        bool is_awaited = writer == builder_.local();
        take(writer, offset, std::min(cells_.bytes, bytes_of(writer) - offset), [&](const Range& into, Bytes skip) {
          if (!is_awaited) pair_sync(builder_, writer, piece_);
          is_awaited = true;
          receiver_get(builder_, cells_, writer, piece_, skip, into);
        });
      }
      if (ranks > 1) taken_post(builder_, piece_);
    }
  }

 private:
  void put(const Range& own, Bytes offset) {
    await_free_cell(builder_, cells_, piece_);
    sender_put(builder_, cells_, piece_, {own.buffer, own.offset + offset, std::min(cells_.bytes, own.bytes - offset)});
    if (builder_.node_size() > 1) pair_sync(builder_, builder_.local(), piece_);
  }

  plan::Builder& builder_;
  Cells cells_;
  int piece_ = 0;
};

}  // namespace espalier::smp
