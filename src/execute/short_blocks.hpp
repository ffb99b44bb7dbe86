#pragma once
// Scatterv, gatherv and alltoallv of short blocks, on one node. No rank knows all sizes beforehand, and to exchange
// them first would cost as much as the call. So every rank sends its blocks, each with its size, before it asks;
// whoever knows sizes (the root; in an all-to-all each rank for what it sends) says beside them whether all of those
// are short. If they are, the call is done with what has already come, one transfer between caches after its last rank
// entered. If not, nothing was delivered, and every rank knows it.

#include <optional>
#include <span>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// A block in the caller's memory; `data` may be null where there are no bytes.
struct Block {
  std::byte* data = nullptr;
  Bytes bytes = 0;
};

/// Blocks of a rank, by rank; none: the rank does not know them (its arguments are wrong), which makes the call
/// `too_long` for all.
using MaybeBlocks = std::optional<std::span<const Block>>;

enum class ShortOutcome {
  done,
  too_long,    ///< on all ranks alike, before any output was written
  mismatched,  ///< this rank expects other sizes than were sent to it: MPI forbids that; others may well be done
};

/// A line for each rank's block at least, in one message.
inline constexpr int most_short_ranks = tiny_lines;

/// Largest block that goes this way; 0: none does, as with more ranks than those. Of scatter, gather and alltoall;
/// equal on all ranks.
Bytes longest_short_block(plan::Operation operation, int ranks);

/// What is done, and up to which block: at most longest_short_block(). Equal on all ranks.
struct ShortKind {
  plan::Operation operation;
  Bytes longest;
};

/// Whether the root of a scatter or gather can tell all sizes where they are too long: they have room in its lines.
bool tells_sizes(plan::Operation operation, int ranks);
inline constexpr int most_told_ranks = 20;

/// One call, made by all ranks of the seat's communicator, which all sit on this node; begins the call itself.
/// `sizes`: one per rank if tells_sizes(), else none. The root's are everybody's when the outcome is `too_long`, so
/// that they need not be exchanged; otherwise they are left alone. `root` is read for scatter and gather. `input`: a
/// block for each rank (alltoall; scatter at the root), one block (gather), or ignored (scatter elsewhere). `output` in
/// mirror image. Inputs and outputs are the same or apart.
ShortOutcome run_short_blocks(Seat& seat, const ShortKind& kind, LocalRank root, MaybeBlocks input, MaybeBlocks output,
                              std::span<Bytes> sizes, Waiter& waiter) noexcept;

}  // namespace espalier::execute
