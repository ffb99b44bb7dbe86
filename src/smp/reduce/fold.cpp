#include "smp/reduce/fold.hpp"

namespace espalier::smp {

using plan::Buffer;

void Fold::run(int last, Bytes own, Bytes theirs, const Range& target) {
  const int me = builder_.local().value;
  // Starting with the own operand saves a copy. As the second highest that takes the two operands' changing places.
  const bool starts_with_own = me == last || (may_swap_ && me == last - 1);
  const Range sum = place_sum(last, starts_with_own, theirs, target);
  if (!starts_with_own) fetch(last, own, theirs, sum);
  bool is_first = starts_with_own;
  for (int rank = starts_with_own ? last : last - 1; rank >= 0; --rank) {
    if (rank == me && starts_with_own) continue;
    if (rank == me)
      builder_.reduce(Buffer::input, own, sum.buffer, sum.offset, sum.bytes);
    else
      combine(rank, own, theirs, sum, is_first);
    is_first = false;
  }
  if (is_first)
    move(Buffer::input, own, target);
  else if (sum.buffer != target.buffer || sum.offset != target.offset)
    move(sum.buffer, sum.offset, target);
}

void Fold::run_onto(int last, Bytes theirs, const Range& target) {
  for (int rank = last - 1; rank >= 0; --rank) combine(rank, 0, theirs, target, false);
}

/// Where the sum grows. The target may be the own operand, which must not be overwritten before its turn.
Range Fold::place_sum(int last, bool starts_with_own, Bytes theirs, const Range& target) const {
  if (starts_with_own) return target;
  if (source_ == Source::pulled) return {Buffer::scratch, pulled_at(last, theirs), target.bytes};
  return target.buffer == Buffer::scratch ? target : Range{Buffer::scratch, scratch_, target.bytes};
}

Bytes Fold::pulled_at(int rank, Bytes theirs) const {
  return theirs + static_cast<Bytes>(rank < builder_.local().value ? rank : rank - 1) * stretch_;
}

void Fold::fetch(int rank, Bytes own, Bytes theirs, const Range& sum) {
  if (source_ == Source::cells) builder_.get(LocalRank(rank), theirs, sum.buffer, sum.offset, sum.bytes);
  if (source_ == Source::inputs) builder_.pull(LocalRank(rank), Buffer::input, own, sum.buffer, sum.offset, sum.bytes);
}

/// The own operand, when it comes first, moves right before: interpreters make one loop of both.
void Fold::combine(int rank, Bytes own, Bytes theirs, const Range& sum, bool is_first) {
  const Bytes operand = source_ == Source::pulled ? pulled_at(rank, theirs) : scratch_ + stretch_;
  if (source_ == Source::inputs)
    builder_.pull(LocalRank(rank), Buffer::input, own, Buffer::scratch, operand, sum.bytes);
  if (is_first) move(Buffer::input, own, sum);
  if (source_ == Source::cells)
    builder_.reduce(LocalRank(rank), theirs, sum.buffer, sum.offset, sum.bytes);
  else
    builder_.reduce(Buffer::scratch, operand, sum.buffer, sum.offset, sum.bytes);
}

void Fold::move(Buffer from, Bytes offset, const Range& into) {
  if (into.buffer == Buffer::window)
    builder_.put(from, offset, into.bytes, into.offset);
  else
    builder_.copy(from, offset, into.buffer, into.offset, into.bytes);
}

}  // namespace espalier::smp
