#pragma once
// One rank's arithmetic: what several ranks of its node bring to a stretch of the vector, combined in rank order.

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Folds from the highest rank down, because `reduce` puts the far operand on the left: acc = v(r) o acc. The result is
/// v(0) o (v(1) o (… o v(last))) whoever folds it, bit by bit, so that it does not depend on how a vector is cut.
class Fold {
 public:
  /// Uses `scratch_bytes(stretch)` of scratch from `scratch` on.
  Fold(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, Bytes scratch)
      : builder_(builder),
        is_commutative_(problem.is_commutative),
        is_single_copy_(choice.within == plan::Within::single_copy),
        scratch_(scratch) {}

  /// What folding stretches of at most this many bytes needs: the accumulator, and under single copy the operand.
  static Bytes scratch_bytes(Bytes stretch) { return 2 * stretch; }

  /// target = v(0) o … o v(last) over local ranks, where the own v lies at `own` of `input` and so does every
  /// neighbour's; through cells, neighbours have it at `window_offset` of their windows. The own rank takes part when
  /// it is one of 0 … last. The target may be the own part of `input` (MPI_IN_PLACE), or the own window.
  void run(int last, Bytes own, Bytes window_offset, const Range& target);

 private:
  void fetch(int rank, Bytes theirs, Bytes window_offset, const Range& into);
  void combine(int rank, Bytes theirs, Bytes window_offset, const Range& into);
  void move(plan::Buffer from, Bytes offset, const Range& into);

  plan::Builder& builder_;
  bool is_commutative_;
  bool is_single_copy_;
  Bytes scratch_;
};

}  // namespace espalier::smp
