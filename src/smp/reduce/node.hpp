#pragma once
// What all ranks of a node bring, combined: for one of them, or for all.

#include <span>

#include "plan/builder.hpp"
#include "smp/operations.hpp"
#include "smp/reduce/fold.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::smp {

/// Every rank folds one slice of each piece and hands the result to whoever wants it, so that all cores compute and
/// every byte crosses between caches as rarely as possible (the paper's framework, extended by Rabenseifner's idea of
/// 2004 that an allreduce is a reduce_scatter and an allgather):
///
///     rank 0's cell   [ result 0 | its input  | its input  ]      rank i puts its input for the others,
///     rank 1's cell   [ its input | result 1  | its input  ]      folds column i out of all cells,
///     rank 2's cell   [ its input | its input | result 2   ]      and puts the result into the gap
///
/// Neighbouring pieces overlap as far as there are cells. Under single copy operands and results are pulled out of (or
/// pushed into) the callers' own buffers instead. A leader folds short pieces all by itself. Each rank reads (p - 1) /
/// p of a piece from neighbours, and as much of the results if it wants them.
///
/// All ranks of a node call the same functions in the same order.
class NodeReduction {
 public:
  /// For everyone: results come to lie in `output`.
  static constexpr LocalRank everyone{-1};

  /// The `leader` gets the results in its buffer `result`, which may be its `output` or its `scratch`. Uses
  /// `scratch_bytes` of scratch from `scratch` on.
  NodeReduction(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, LocalRank leader,
                plan::Buffer result, Bytes scratch);

  static Bytes scratch_bytes(const plan::Problem& problem, const plan::Choice& choice);

  /// Combines the `bytes` at `offset` of all inputs; result at `to`.
  void reduce(Bytes offset, Bytes to, Bytes bytes);

  /// Brings the inputs' `bytes` at `offset` together uncombined: local rank i's at `to + i * bytes` of the leader's
  /// `result`.
  void gather(Bytes offset, Bytes to, Bytes bytes);

  /// What the leader has at `from` to the `output` of `reader` at `to`, or to everyone's. The leader's own copy is its
  /// own business. Under single copy `from` stays as it is until end().
  void hand_out(LocalRank reader, const Range& from, Bytes to);

  /// What the leader has at `from` to its node: to local rank i's `output` what lies from `cuts[i]` to `cuts[i + 1]`,
  /// counted from there. Otherwise like hand_out.
  void deal(const Range& from, std::span<const Bytes> cuts);

  /// Under single copy nobody may end before all have read its buffers.
  void end();

 private:
  struct Piece {
    int number;
    Bytes offset;
    Bytes to;
    Bytes bytes;
  };

  bool wants(int rank) const { return leader_ == everyone || LocalRank(rank) == leader_; }
  bool is_leader() const { return builder_.local() == leader_; }
  bool is_shared_by(int rank, const Piece& piece) const;
  bool is_for_leader_alone(const Piece& piece) const;
  Range slice_of(int rank, const Piece& piece) const;
  void stage(const Piece& piece);
  void fold(const Piece& piece);
  void collect(const Piece& piece);
  void take(int rank, const Piece& piece);
  void push_result(const Range& from, Bytes to);
  void gather_through_cells(Bytes offset, Bytes to, Bytes bytes);
  void offer(const Range& from);
  void accept(const Range& from, Bytes to);
  void offer_around(const Range& from, const Range& piece, const Range& own);
  void deal_by_single_copy(const Range& from, Bytes begin, Bytes bytes);

  plan::Builder& builder_;
  Grain grain_;
  Cells cells_;
  bool is_single_copy_;
  LocalRank leader_;
  plan::Buffer result_;
  Fold fold_;
  Bytes scratch_;
  Bytes piece_;  ///< bytes of a whole one
  int pieces_ = 0;
  bool has_read_ = false;
};

}  // namespace espalier::smp
