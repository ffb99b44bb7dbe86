#include "plan/blocks.hpp"

namespace espalier::plan {

Blocks::Blocks(const Problem& problem, int ranks) : ranks_(ranks), block_(problem.bytes) {
  if (problem.counts.empty()) return;
  begin_.reserve(problem.counts.size() + 1);
  begin_.push_back(0);
  for (const Bytes bytes : problem.counts) begin_.push_back(begin_.back() + bytes);
}

Bytes PairBlocks::input_begin(Rank from, Rank to) const {
  if (problem_.counts.empty()) return static_cast<Bytes>(to.value) * problem_.bytes;
  Bytes sum = 0;
  for (int r = 0; r < to.value; ++r) sum += count(from, Rank(r));
  return sum;
}

Bytes PairBlocks::output_begin(Rank from, Rank to) const {
  if (problem_.counts.empty()) return static_cast<Bytes>(from.value) * problem_.bytes;
  Bytes sum = 0;
  for (int r = 0; r < from.value; ++r) sum += count(Rank(r), to);
  return sum;
}

}  // namespace espalier::plan
