#pragma once
// What all ranks of a node bring, combined in two levels: within each NUMA node (or cache) first, then between them.

#include "plan/builder.hpp"
#include "smp/domains.hpp"
#include "smp/operations.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::smp {

/// As NodeReduction, through cells, domain by domain (domains.hpp). Of each piece every rank
///
///     stages    its input, in the first half of its cell, for its own domain
///     folds     one slice of its domain's inputs; the partial result goes into the gap that its own input left
///     crosses   one slice again: folds all domains' partial results; the result goes into the cell's other half
///     collects  its domain's other slices
///
/// where the last two are done by those domains only that want the result. So of a vector of n bytes n cross into each
/// such domain from each other one, and not from each rank of it. Slices are of a domain: who has the same slice of
/// another domain, or parts of it when domains are unequal, is looked up.
///
/// With levels=3 domains are caches, or parts of large ones, of which a node has many, and what crosses is cut once
/// more, so that a cache's way out is not used by all others for the same bytes:
///
///     crosses   a share of the piece that is this rank's alone: folds all domains' partial results
///     shares    its slice again: what the other domains' ranks have folded of it, for its own domain
///     collects  as before
///
/// so that of n bytes n cross into each cache as operands, and n as results, through all of its cores (an allreduce
/// after Rabenseifner between caches, within them, and over all: ext_mpi's multi-radix reduce_scatter and allgather,
/// with counters in the place of barriers).
///
/// The sum is (v(0) o … o v(i)) o (v(i+1) o … o v(j)) o …: domains fold apart. Where operands must keep their order and
/// domains do not hold consecutive ranks, the node counts as one domain. Equal bits on all ranks, and for equal places
/// of ranks.
class DomainReduction {
 public:
  /// For everyone: results come to lie in `output`.
  static constexpr LocalRank everyone{-1};

  /// The `leader` gets the results in its buffer `result`. Uses scratch_bytes of scratch from `scratch` on.
  DomainReduction(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, LocalRank leader,
                  plan::Buffer result, Bytes scratch);

  static Bytes scratch_bytes(const plan::Problem& problem, const plan::Choice& choice);

  /// Combines the `bytes` at `offset` of all inputs; result at `to`.
  void reduce(Bytes offset, Bytes to, Bytes bytes);

  /// Cells need no farewell.
  void end() {}

 private:
  struct Piece {
    int number;
    int round;  ///< in which its partial results are folded
    Bytes offset;
    Bytes to;
    Bytes bytes;
  };
  /// A stretch of a piece that one rank has folded.
  struct Share {
    LocalRank owner;
    Bytes offset;
    Bytes bytes;
  };

  bool wants(LocalRank rank) const { return leader_ == everyone || rank == leader_; }
  bool crosses() const { return leader_ == everyone || domains_.of(leader_) == own_domain_; }
  /// Cells are in halves: inputs and partial results, results.
  Bytes partial_at(const Piece& piece) const { return cells_.offset(piece.number); }
  Bytes result_at(const Piece& piece) const { return cells_.offset(piece.number) + half_; }
  /// Flags grow: of each round its partial results, then what is `lag_` rounds behind.
  std::uint64_t first_tick(int round) const {
    return static_cast<std::uint64_t>(ticks_) * static_cast<unsigned>(round);
  }
  std::uint64_t partial_tick(const Piece& piece) const { return first_tick(piece.round) + 1; }
  std::uint64_t result_tick(const Piece& piece) const { return first_tick(piece.round + lag_) + 2; }
  /// When what is collected is there.
  std::uint64_t shared_tick(const Piece& piece) const {
    return first_tick(piece.round + lag_) + (is_cut_twice_ ? 3 : 2);
  }
  Slices slices_of(int domain, const Piece& piece) const;
  Share own_share(const Piece& piece) const;
  std::vector<Share> shares_of(int domain, const Piece& piece, const Share& stretch) const;
  Share final_share(const Piece& piece) const;
  std::vector<Share> final_shares_of(const Piece& piece, const Share& stretch) const;
  Range sum_of(const Piece& piece, const Share& share) const;
  void fold_all_domains(const Piece& piece, const Share& share, const Range& sum);
  void stage(const Piece& piece);
  void fold(const Piece& piece);
  void cross(const Piece& piece);
  void cross_twice(const Piece& piece);
  void share(const Piece& piece);
  void collect(const Piece& piece);

  plan::Builder& builder_;
  Grain grain_;
  Bytes half_;
  Cells cells_;
  int lag_;  ///< of crossing behind folding, in pieces
  bool is_cut_twice_;
  int ticks_;  ///< of a round
  LocalRank leader_;
  plan::Buffer result_;
  Bytes scratch_;
  Domains domains_;
  int own_domain_;
  int place_;                           ///< of this rank in its domain
  std::vector<LocalRank> final_order_;  ///< whose shares of a piece follow each other, where it is cut twice
  int final_place_ = 0;
  int pieces_ = 0;
  int rounds_ = 0;
};

}  // namespace espalier::smp
