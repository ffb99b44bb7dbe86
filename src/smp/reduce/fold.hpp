#pragma once
// One rank's arithmetic: what several ranks of its node bring to a stretch of the vector, combined in rank order.

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Folds from the highest rank down, because `reduce` puts the far operand on the left: acc = v(r) o acc. The result is
/// v(0) o (v(1) o (… o v(last))) whoever folds it, bit by bit, so that it does not depend on how a vector is cut.
class Fold {
 public:
  /// Where neighbours' operands are.
  enum class Source {
    cells,   ///< in their windows
    inputs,  ///< in their `input`s, where ours is in ours: pulled when their turn comes
    pulled,  ///< in our scratch, one behind the other in rank order without our own: pulled before
  };

  /// Folds stretches of at most `stretch` bytes. Uses scratch_bytes(stretch) of scratch from `scratch` on.
  Fold(plan::Builder& builder, const plan::Problem& problem, Source source, Bytes stretch, Bytes scratch)
      : builder_(builder), may_swap_(problem.may_swap()), source_(source), stretch_(stretch), scratch_(scratch) {}

  /// The accumulator, and an operand that is pulled when its turn comes.
  static Bytes scratch_bytes(Bytes stretch) { return 2 * stretch; }

  /// target = v(0) o … o v(last) over local ranks. The own v lies at `own` of `input`; neighbours' at `theirs` of their
  /// windows (cells) or from `theirs` of our scratch on, each in `stretch` bytes (pulled). The own rank takes part when
  /// it is one of 0 … last >= 0. The target may be the own operand itself (MPI_IN_PLACE), or in the own window.
  void run(int last, Bytes own, Bytes theirs, const Range& target);

  /// The same where the target holds v(last) already and the own rank takes no part.
  void run_onto(int last, Bytes theirs, const Range& target);

 private:
  Range place_sum(int last, bool starts_with_own, Bytes theirs, const Range& target) const;
  Bytes pulled_at(int rank, Bytes theirs) const;
  void fetch(int rank, Bytes own, Bytes theirs, const Range& sum);
  void combine(int rank, Bytes own, Bytes theirs, const Range& sum, bool is_first);
  void move(plan::Buffer from, Bytes offset, const Range& into);

  plan::Builder& builder_;
  bool may_swap_;
  Source source_;
  Bytes stretch_;
  Bytes scratch_;
};

}  // namespace espalier::smp
