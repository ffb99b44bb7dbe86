#pragma once
// What bytes can be: what a rank brought, or what a reduction made of two such.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "verify/machine/memory.hpp"

namespace espalier::verify {

/// Interned trees: equal trees have equal numbers, so that comparing results is comparing numbers. An expression over
/// ranks stands for all elements alike; which element it is, the value's offset says.
class Expressions {
 public:
  /// `may_swap`: a o b is b o a, bit by bit; kept in one order.
  Expressions(int ranks, bool may_swap) : ranks_(ranks), may_swap_(may_swap) {}

  /// What all ranks bring, one behind the other: one expression, so that what neighbours in rank order bring together
  /// is one piece. Operations without reductions use only this.
  static constexpr std::uint32_t brought = 1;
  /// A reduction of operands that do not belong together: undefined bytes, or different elements.
  static constexpr std::uint32_t nonsense = 2;
  /// What one rank brings to a reduction.
  static std::uint32_t leaf(Rank rank) { return 3 + static_cast<std::uint32_t>(rank.value); }

  /// left o right, element by element.
  Value combine(const Value& left, const Value& right);

  /// The ranks whose contributions the expression combines, from left to right. Empty when it is no reduction.
  std::vector<int> operands(std::uint32_t expression) const;

 private:
  std::uint32_t first_tree() const { return leaf(Rank(ranks_)); }

  int ranks_;
  bool may_swap_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> index_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> trees_;
};

}  // namespace espalier::verify
