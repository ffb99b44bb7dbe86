#include "smp/reduce_fold.hpp"

namespace espalier::smp {

using plan::Buffer;

void Fold::run(int last, Bytes own, Bytes window_offset, const Range& target) {
  const int me = builder_.local().value;
  // Starting with the own operand saves a copy. As the second highest that takes the two operands' changing places.
  const bool starts_with_own = me == last || (is_commutative_ && me == last - 1);
  // The target may be the own operand, and must not be overwritten before that one's turn.
  const bool is_direct = starts_with_own || target.buffer == Buffer::scratch;
  const Range sum = is_direct ? target : Range{Buffer::scratch, scratch_, target.bytes};
  if (starts_with_own)
    move(Buffer::input, own, sum);
  else
    fetch(last, own, window_offset, sum);
  for (int rank = starts_with_own ? last : last - 1; rank >= 0; --rank) {
    if (rank != me)
      combine(rank, own, window_offset, sum);
    else if (!starts_with_own)
      builder_.reduce(Buffer::input, own, sum.buffer, sum.offset, sum.bytes);
  }
  if (!is_direct) move(sum.buffer, sum.offset, target);
}

void Fold::fetch(int rank, Bytes theirs, Bytes window_offset, const Range& into) {
  if (is_single_copy_)
    builder_.pull(LocalRank(rank), Buffer::input, theirs, into.buffer, into.offset, into.bytes);
  else
    builder_.get(LocalRank(rank), window_offset, into.buffer, into.offset, into.bytes);
}

void Fold::combine(int rank, Bytes theirs, Bytes window_offset, const Range& into) {
  if (!is_single_copy_) return builder_.reduce(LocalRank(rank), window_offset, into.buffer, into.offset, into.bytes);
  const Bytes operand = scratch_ + into.bytes;
  builder_.pull(LocalRank(rank), Buffer::input, theirs, Buffer::scratch, operand, into.bytes);
  builder_.reduce(Buffer::scratch, operand, into.buffer, into.offset, into.bytes);
}

void Fold::move(Buffer from, Bytes offset, const Range& into) {
  if (into.buffer == Buffer::window)
    builder_.put(from, offset, into.bytes, into.offset);
  else
    builder_.copy(from, offset, into.buffer, into.offset, into.bytes);
}

}  // namespace espalier::smp
