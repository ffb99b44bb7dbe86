#pragma once
// Recursive halving among leaders, and the two ways on from there: Rabenseifner's allreduce and his reduce
// (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, sections 4.4 and 4.5).

#include <utility>
#include <vector>

#include "collectives/leader_sum.hpp"
#include "smp/reduce_grain.hpp"

namespace espalier::collectives {

/// One leader's part among 2^n of them, each with a place from 0 on (groups/doubling.hpp). `partners[k]` has the place
/// that differs in bit k. Builder and sum must outlive it.
class Halving {
 public:
  /// Over the first `bytes` of the sum.
  Halving(plan::Builder& builder, LeaderSum& sum, const smp::Grain& grain, Bytes bytes, std::vector<Rank> partners,
          int place)
      : builder_(builder),
        sum_(sum),
        cuts_(grain, bytes, 1 << partners.size()),
        partners_(std::move(partners)),
        place_(place),
        mine_{0, 1 << partners_.size()} {}

  /// In round k partners divide what they have in common between them: this leader ends with one slice of the vector,
  /// combined over all. n rounds, (2^n - 1)/2^n of the vector sent.
  void halve();
  /// Gives the results back in reverse order: the whole vector, everywhere. As much again.
  void double_back();
  /// Instead hands them on towards one place, which gets the whole vector: n rounds, each leader sends once.
  void gather_at(int place);

 private:
  /// Slices [first, last) of the vector, of which there is one for each place.
  struct Slices {
    int first;
    int last;
  };

  Bytes begin(const Slices& s) const { return cuts_.begin(s.first); }
  Bytes size(const Slices& s) const { return cuts_.begin(s.last) - cuts_.begin(s.first); }
  bool is_right(std::size_t round) const { return (place_ >> round & 1) != 0; }
  std::pair<Slices, Slices> halves(std::size_t round) const;
  /// What the partner of a round holds when both have as much.
  Slices theirs(std::size_t round) const;
  void take_on(const Slices& slices);

  plan::Builder& builder_;
  LeaderSum& sum_;
  smp::Slices cuts_;
  std::vector<Rank> partners_;
  int place_;
  Slices mine_;
};

}  // namespace espalier::collectives
