#pragma once
// The seven shared-memory operations of Wu, Kendall and Aluru (section 5), as builders of plan steps. Each call emits
// what the calling rank does in the operation; `piece` counts from 0 and `cells` says which of the writer's cells
// carries it.
//
// Where the paper has one buffer for the node, every rank has cells of its own: a cell has one writer. So a group that
// puts segments does so side by side, and a group that gets them says whose cell it reads.

#include "plan/builder.hpp"
#include "smp/placement.hpp"

namespace espalier::smp {

/// The cells in which a writer's pieces travel round robin: cell i holds pieces i, i + cells, i + 2 cells, …
struct Cells {
  Bytes bytes = 0;  ///< of one cell
  int count = 1;

  explicit Cells(const plan::Choice& choice) : bytes(choice.cell), count(choice.cells) {}

  Bytes offset(int piece) const { return static_cast<Bytes>(piece % count) * bytes; }
  Bytes total() const { return bytes * static_cast<Bytes>(count); }
};

/// What a flag says once the piece is there. From 1 on: one that was never posted in this call stands below every tick
/// of it.
inline std::uint64_t tick(int piece) { return static_cast<std::uint64_t>(piece) + 1; }

/// A stretch of a private buffer.
struct Range {
  plan::Buffer buffer;
  Bytes offset;
  Bytes bytes;
};

/// (1) Sender_put: this rank copies data into its cell of the piece, `skip` bytes in.
void sender_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from, Bytes skip = 0);

/// (2) Receiver_get: this rank copies what lies `skip` bytes into the owner's cell of the piece. Of nothing, nothing.
void receiver_get(plan::Builder& builder, const Cells& cells, LocalRank owner, int piece, Bytes skip,
                  const Range& into);

/// (3) Pair_sync: the writer says that its pieces up to and including this one are there, everyone else who calls it
/// waits for that.
void pair_sync(plan::Builder& builder, LocalRank writer, int piece);

/// (4) Group_get: everyone but the writer copies the whole piece, `bytes` of the writer's data from `offset` on, to
/// where `placement` wants them in its output.
void group_get(plan::Builder& builder, const Cells& cells, LocalRank writer, int piece, Bytes offset, Bytes bytes,
               const Placement& placement);

/// (5) Group_seg_get: everyone but the writer copies its own segment, which lies `skip` bytes into the piece.
void group_seg_get(plan::Builder& builder, const Cells& cells, LocalRank writer, int piece, Bytes skip,
                   const Range& into);

/// (6) Group_seg_put: everyone copies its own segment of the piece into its own cell.
void group_seg_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from);

/// (7) Group_sync: everyone says that pieces up to this one are there and waits until all neighbours have said so.
void group_sync(plan::Builder& builder, int piece);

/// The neighbour `distance` places to the right on the node, around its end.
LocalRank neighbour_at(const plan::Builder& builder, int distance);

/// Sender_puts into one cell after the other, joined where source and cell both go on.
class JoinedPuts {
 public:
  JoinedPuts(plan::Builder& builder, const Cells& cells) : builder_(builder), cells_(cells) {}

  void add(int piece, const Range& from, Bytes skip);
  /// Emits what is pending. Before the piece's Pair_sync.
  void flush();

 private:
  plan::Builder& builder_;
  Cells cells_;
  int piece_ = 0;
  Range pending_{plan::Buffer::input, 0, 0};
  Bytes skip_ = 0;
};

/// How many pieces a rank that writes and reads puts ahead of what it gets: half of its cells. More, and it would wait
/// for its readers as soon as it has read; less, and every piece would cost a change of who runs.
inline int pieces_ahead(const Cells& cells) { return (cells.count + 1) / 2; }

/// What makes the cells a pipeline. A reader says that it has taken all pieces up to this one; a writer waits until
/// that, by one reader or by all neighbours, is true of the piece that last used the cell it is about to write.
void taken_post(plan::Builder& builder, int piece);
void await_taken(plan::Builder& builder, LocalRank reader, int piece);
void await_free_cell(plan::Builder& builder, const Cells& cells, int piece);

}  // namespace espalier::smp
