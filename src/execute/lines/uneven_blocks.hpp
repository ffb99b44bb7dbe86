#pragma once
// Scatterv, gatherv and alltoallv on one node. No rank knows all sizes beforehand, and to exchange them first would
// cost as much as a short call. But both ends of every block know its size: MPI wants them to agree, and where the
// receiver has more room than was sent, what was sent holds. So every rank
// sends its blocks, each behind its size, before it asks. Short ones travel in lines, one transfer between caches after
// their reader came in. Of a longer one its place does: in the sender's window, piece by piece, or in the sender's
// memory, out of which the receiver copies it while the sender waits. The longest of a gather their senders copy, all
// at a time; and where every rank has a core of its own, the root of a scatter or gather does its share
// (docs/adr/0010).
//
// Where only blocks up to some size are to go this way, whoever knows sizes (the root; in an all-to-all each rank for
// what it sends) says beside them whether all of those are so short. If not, nothing was delivered, and every rank
// knows it.

#include <optional>
#include <span>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// A block in the caller's memory; `data` may be null where there are no bytes. Not initialised by itself: room for the
/// blocks of all ranks is more than what a short call touches otherwise.
struct Block {
  std::byte* data;
  Bytes bytes;
};

/// Blocks of a rank, by rank; none: the rank does not know them (its arguments are wrong).
using MaybeBlocks = std::optional<std::span<const Block>>;

enum class UnevenOutcome {
  done,
  too_long,   ///< on all ranks alike, before any output was written; also where some rank does not know its blocks
  truncated,  ///< more was sent to this rank than it has room for: MPI forbids that; others may well be done
  unknown,    ///< no size is too long, and this rank does not know its blocks; others may well be done
  broken,     ///< the system refused a copy between processes, or a wait was given up
};

/// A line for each rank's block at least, in one message.
inline constexpr int most_uneven_ranks = tiny_lines;

/// Largest block that travels in lines; 0: none does, as with more ranks than those. Of scatter, gather and alltoall;
/// equal on all ranks.
Bytes longest_in_lines(plan::Operation operation, int ranks);

/// No block is too long.
inline constexpr Bytes any_size = ~Bytes{0};

/// What is done, and up to which block: at most longest_in_lines() where there is no single copy. Equal on all ranks.
struct UnevenKind {
  plan::Operation operation;
  Bytes longest;
  /// Blocks up to this go through the sender's window, if they do not fit lines and as long as there is room: two
  /// copies, but at a time and without a call of the system, and their sender does not wait, which costs a change of
  /// processes where ranks share cores.
  Bytes longest_in_window = 0;
  /// Blocks up to this do where their sender finds that it is close to the others (execute/closeness.hpp).
  Bytes longest_if_close = 0;
  /// Of long blocks the root of a scatter or gather copies a part, so that all ranks have as much to copy. Where ranks
  /// share cores that gains nothing.
  bool root_copies = false;
};

/// Whether the root of a scatter or gather can tell all sizes where they are too long: they have room in its lines.
bool tells_sizes(const UnevenKind& kind, int ranks);
inline constexpr int most_told_ranks = 20;

/// What one rank brings to a call. `input`: a block for each rank (alltoall; scatter at the root), one block (gather),
/// or ignored (scatter elsewhere). `output` in mirror image. They are apart, or the same: then no block is longer than
/// what travels in lines.
struct UnevenCall {
  LocalRank root;  ///< read for scatter and gather
  MaybeBlocks input, output;
  /// One per rank if tells_sizes(), else none. The root's are everybody's when the outcome is `too_long`, so that they
  /// need not be exchanged; otherwise they are left alone.
  std::span<Bytes> sizes;
  /// If not empty: one per block of the output, which are to be told what came. MPI wants that to be all there is room
  /// for, but programs get by with more.
  std::span<Bytes> taken = {};
};

/// One call, made by all ranks of the seat's communicator, which all sit on this node; begins the call itself.
/// `single_copy` may be null where no block can be longer than what travels in lines.
UnevenOutcome run_uneven_blocks(Seat& seat, const UnevenKind& kind, const UnevenCall& call, SingleCopy* single_copy,
                                Waiter& waiter) noexcept;

}  // namespace espalier::execute
