#pragma once
// The shared-memory operations of Wu, Kendall and Aluru (section 5), as builders of plan steps. Each call emits what
// the calling rank does in the operation; `piece` counts from 0 and `cell` says which of the writer's cells carries it.

#include "plan/builder.hpp"

namespace espalier::smp {

/// The cells in which a writer's pieces travel round robin: cell i holds pieces i, i + cells, i + 2 cells, …
struct Cells {
  Bytes bytes = 0;  ///< of one cell
  int count = 1;

  Bytes offset(int piece) const { return static_cast<Bytes>(piece % count) * bytes; }
  Bytes total() const { return bytes * static_cast<Bytes>(count); }
};

/// A stretch of a private buffer.
struct Range {
  plan::Buffer buffer;
  Bytes offset;
  Bytes bytes;
};

/// (1) Sender_put: this rank copies one piece (at most a cell) into its cell.
void sender_put(plan::Builder& builder, const Cells& cells, int piece, const Range& from);

/// (2) Receiver_get: this rank copies one piece, or the part of it that starts `skip` bytes in, out of the owner's
/// cell.
void receiver_get(plan::Builder& builder, const Cells& cells, LocalRank owner, int piece, Bytes skip,
                  const Range& into);

/// (3) Pair_sync, in its two halves: the writer says that pieces up to and including this one are there, the reader
/// waits for it.
void pair_sync_post(plan::Builder& builder, int piece);
void pair_sync_await(plan::Builder& builder, LocalRank writer, int piece);

/// (7) Group_sync: everyone says that pieces up to this one are there and waits until all neighbours have said so.
void group_sync(plan::Builder& builder, int piece);

/// A reader says that it has taken all pieces up to this one; a writer waits until all neighbours have taken the piece
/// that last used the cell it is about to write. Together they make the cells a pipeline.
void taken_post(plan::Builder& builder, int piece);
void await_free_cell(plan::Builder& builder, const Cells& cells, int piece);

}  // namespace espalier::smp
