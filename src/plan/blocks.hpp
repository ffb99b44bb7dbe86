#pragma once
// Where the blocks of a problem lie in the callers' buffers, uniform or not.

#include <vector>

#include "plan/problem.hpp"

namespace espalier::plan {

/// One block per rank, one behind the other in rank order: scatter, gather, allgather, reduce_scatter. O(1) to make
/// without counts, O(ranks) with.
class Blocks {
 public:
  Blocks(const Problem& problem, int ranks);

  Bytes bytes(Rank rank) const { return begin_.empty() ? block_ : begin(Rank(rank.value + 1)) - begin(rank); }
  /// Also of the rank behind the last: the total.
  Bytes begin(Rank rank) const {
    return begin_.empty() ? static_cast<Bytes>(rank.value) * block_ : begin_[static_cast<std::size_t>(rank.value)];
  }
  Bytes total() const { return begin(Rank(ranks_)); }

 private:
  int ranks_;
  Bytes block_;
  std::vector<Bytes> begin_;  ///< of each rank and the end; empty when all blocks are equal
};

/// One block per ordered pair of ranks: alltoall. Looking up is O(1) without counts and O(ranks) with.
class PairBlocks {
 public:
  PairBlocks(const Problem& problem, int ranks) : problem_(problem), ranks_(ranks) {}

  Bytes bytes(Rank from, Rank to) const { return problem_.counts.empty() ? problem_.bytes : count(from, to); }
  /// Where in the input of `from` its block for `to` begins.
  Bytes input_begin(Rank from, Rank to) const;
  /// Where in the output of `to` the block of `from` begins.
  Bytes output_begin(Rank from, Rank to) const;

 private:
  Bytes count(Rank from, Rank to) const {
    return problem_.counts[static_cast<std::size_t>(from.value) * static_cast<std::size_t>(ranks_) +
                           static_cast<std::size_t>(to.value)];
  }

  const Problem& problem_;
  int ranks_;
};

}  // namespace espalier::plan
