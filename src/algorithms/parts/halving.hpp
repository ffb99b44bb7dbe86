#pragma once
// Recursive halving among leaders, and the two ways on from there: Rabenseifner's allreduce and his reduce
// (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, sections 4.4 and 4.5); dividing by more than two in a round,
// for fewer rounds and more messages.

#include <utility>
#include <vector>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

/// One leader's part among 2^n of them, each with a place from 0 on. Builder and sum must outlive it.
class Halving {
 public:
  /// Those who divide in a round (groups/doubling.hpp), in order of their places: `ranks[position]` is this leader.
  struct Circle {
    std::vector<Rank> ranks;
    int position;
  };

  /// Over the first `bytes` of the sum. Circles of more than two need operands that may change places, and a spare
  /// place of spare_bytes().
  Halving(plan::Builder& builder, LeaderSum& sum, const smp::Grain& grain, Bytes bytes, std::vector<Circle> circles);
  /// The same over slices that differ: slice i, for place i, is [cuts[i], cuts[i + 1]). Circles of two.
  Halving(plan::Builder& builder, LeaderSum& sum, const smp::Grain& grain, std::vector<Bytes> cuts,
          std::vector<Circle> circles);

  /// What arrives of a sum of `bytes` at one of `leaders` in a round at most, and at least as much as the sum itself.
  static Bytes spare_bytes(const smp::Grain& grain, Bytes bytes, int leaders, int radix);

  int rounds() const { return static_cast<int>(circles_.size()); }

  /// In round k = 0, 1, … a circle divides what its leaders have in common between them: this leader ends with one
  /// slice of the vector, combined over all. (2^n - 1)/2^n of the vector sent.
  void start_halving(int round);
  void finish_halving(int round);
  /// All of these rounds.
  void halve();
  /// Gives the results back in reverse order, the last round first: the whole vector, everywhere. As much again.
  void start_doubling(int round);
  void finish_doubling(int round);
  /// Instead hands them on towards one leader, who gets the whole vector: as many rounds, each of the others sends
  /// once. `positions`: that leader's in its circles.
  void gather_at(const std::vector<int>& positions);

 private:
  /// Slices [first, last) of the vector, of which there is one for each place.
  struct Slices {
    int first;
    int last;
  };

  const Circle& circle(int round) const { return circles_[static_cast<std::size_t>(round)]; }
  Bytes begin(const Slices& s) const { return cuts_[static_cast<std::size_t>(s.first)]; }
  Bytes size(const Slices& s) const { return cuts_[static_cast<std::size_t>(s.last)] - begin(s); }
  /// What a member of a circle has at the round's end when dividing, or at its beginning when doubling.
  Slices part_of(int round, int member) const;
  Bytes operand_at(int round, int member) const;
  template <class Do>
  void for_each_other(int round, Do act) const;

  smp::Grain grain_;
  LeaderSum& sum_;
  std::vector<Circle> circles_;
  std::vector<Slices> common_;  ///< by round: what the circle has in common
  std::vector<Bytes> cuts_;     ///< where slices begin, and the last one ends
  InFlight pending_;
};

}  // namespace espalier::algorithms
