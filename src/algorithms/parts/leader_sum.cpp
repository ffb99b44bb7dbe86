#include "algorithms/parts/leader_sum.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

void LeaderSum::add(bool is_left, Bytes begin, Bytes bytes) {
  if (is_left || may_swap_) {
    builder_.reduce(spare_.buffer, spare_.offset + begin, sum_.buffer, sum_.offset + begin, bytes);
  } else {
    builder_.reduce(sum_.buffer, sum_.offset + begin, spare_.buffer, spare_.offset + begin, bytes);
    std::swap(sum_, spare_);
  }
}

void LeaderSum::add_from(Bytes from, Bytes begin, Bytes bytes) {
  builder_.reduce(spare_.buffer, spare_.offset + from, sum_.buffer, sum_.offset + begin, bytes);
}

void LeaderSum::settle(Bytes begin, Bytes bytes) {
  if (sum_.buffer != home_.buffer || sum_.offset != home_.offset)
    builder_.copy(sum_.buffer, sum_.offset + begin, home_.buffer, home_.offset + begin, bytes);
  sum_ = home_;
}

std::string why_no_reduction(const topology::Topology& topology, const plan::Problem& problem,
                             const plan::Choice& choice, int parts) {
  const Bytes least = smp::Grain(problem).bytes() * static_cast<Bytes>(parts * choice.levels);
  if (choice.within == plan::Within::cells && topology.largest_node() > 1 && choice.cell < least)
    return "a cell must hold " + format_bytes(least) + " at least: whole, aligned elements";
  const bool keeps_order = choice.between == plan::Between::gather_reduce || topology.is_blocked();
  if (!problem.is_commutative && topology.nodes() > 1 && !keeps_order)
    return "operands must stay in rank order, and nodes do not hold consecutive ranks: gather_reduce keeps it";
  return "";
}

}  // namespace espalier::algorithms
