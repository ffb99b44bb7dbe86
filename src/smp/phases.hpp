#pragma once
// Phases of a node in which any ranks write and any ranks read, all through the same cells or all by single copy.

#include <algorithm>
#include <utility>

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Where a reader finds a part of a writer's piece: `skip` bytes into its cell, or, under single copy, at `offset` of
/// the writer's own `buffer`, where it stays as it is until settle().
struct Source {
  Bytes skip;
  plan::Buffer buffer;
  Bytes offset;
};

/// Every rank of the node calls the same phases in the same order. In a phase each rank has one stretch (maybe empty)
/// for others; its pieces go through its cells round by round: in round k everyone puts its k-th piece and reads the
/// k-th pieces that it wants, so that nobody is more than the number of cells ahead of anybody. Under single copy the
/// whole stretch is one piece, which readers pull. So it is for a rank that is alone on its node, which only copies.
class Phases {
 public:
  Phases(plan::Builder& builder, const plan::Choice& choice)
      : builder_(builder),
        cells_(choice),
        is_single_copy_(choice.within == plan::Within::single_copy || builder.node_size() == 1) {
    if (is_single_copy_ && builder.node_size() > 1) builder.expose();
  }

  /// `bytes_of(local rank)`: the length of each rank's stretch, equal on all ranks. `write(offset, bytes, put)`: calls
  /// `put(from, skip)` for the parts of a piece of this rank's. For each piece of each rank, own included,
  /// `take(writer, offset, bytes, get)` may call `get(into, source)` for the parts it wants: `offset` is the piece's
  /// place in the writer's stretch.
  template <class BytesOf, class Write, class Take>
  void run(BytesOf bytes_of, Write write, Take take) {
    Bytes most = 0;
    for (int r = 0; r < builder_.node_size(); ++r) most = std::max(most, bytes_of(LocalRank(r)));
    const Bytes unit = is_single_copy_ ? most : cells_.bytes;
    const Bytes own = bytes_of(builder_.local());
    for (Bytes offset = 0; offset < most; offset += unit, ++piece_) {
      if (offset < own) put_piece(offset, std::min(unit, own - offset), write);
      for (int distance = 1; distance <= builder_.node_size(); ++distance) {
        const LocalRank writer = neighbour_at(builder_, distance);
        if (offset < bytes_of(writer)) take_piece(writer, offset, std::min(unit, bytes_of(writer) - offset), take);
      }
      if (!is_single_copy_ && builder_.node_size() > 1) taken_post(builder_, piece_);
    }
  }

  /// A phase, through cells, in which everyone writes `bytes` and whoever folds needs a piece of all: `fold(offset,
  /// await, window)` may call `await()`, which waits for all neighbours, and then read what lies at `window` of theirs.
  template <class Write, class Fold>
  void run_together(Bytes bytes, Write write, Fold fold) {
    for (Bytes offset = 0; offset < bytes; offset += cells_.bytes, ++piece_) {
      put_piece(offset, std::min(cells_.bytes, bytes - offset), write);
      bool is_awaited = false;
      const auto await = [&] {
        if (!std::exchange(is_awaited, true))
          builder_.await_neighbours(plan::Flag::ready, static_cast<std::uint64_t>(piece_) + 1);
      };
      fold(offset, await, cells_.offset(piece_));
      taken_post(builder_, piece_);
    }
  }

  /// Under single copy: waits until all have read what there was so far. Before a phase in which ranks write what
  /// earlier ones read (an input may be part of the output), and at the end.
  void settle() {
    if (!is_single_copy_ || builder_.node_size() == 1 || piece_ == settled_) return;
    settled_ = piece_;
    builder_.post(plan::Flag::taken, static_cast<std::uint64_t>(piece_));
    builder_.await_neighbours(plan::Flag::taken, static_cast<std::uint64_t>(piece_));
  }

 private:
  template <class Write>
  void put_piece(Bytes offset, Bytes bytes, Write write) {
    if (!is_single_copy_) {
      await_free_cell(builder_, cells_, piece_);
      write(offset, bytes, [&](const Range& from, Bytes skip) { sender_put(builder_, cells_, piece_, from, skip); });
    }
    if (builder_.node_size() > 1) pair_sync(builder_, builder_.local(), piece_);
  }

  template <class Take>
  void take_piece(LocalRank writer, Bytes offset, Bytes bytes, Take take) {
    bool is_awaited = writer == builder_.local();
    take(writer, offset, bytes, [&](const Range& into, const Source& source) {
      if (!is_awaited) pair_sync(builder_, writer, piece_);
      is_awaited = true;
      if (!is_single_copy_)
        receiver_get(builder_, cells_, writer, piece_, source.skip, into);
      else if (writer == builder_.local())
        builder_.copy(source.buffer, source.offset, into.buffer, into.offset, into.bytes);
      else if (into.bytes > 0)
        builder_.pull(writer, source.buffer, source.offset, into.buffer, into.offset, into.bytes);
    });
  }

  plan::Builder& builder_;
  Cells cells_;
  bool is_single_copy_;
  int piece_ = 0;
  int settled_ = 0;  ///< pieces that all have read
};

}  // namespace espalier::smp
