#include "verify/machine/expressions.hpp"

namespace espalier::verify {

Value Expressions::combine(const Value& left, const Value& right) {
  const auto is_operand = [](const Value& value) { return value.expression >= leaf(Rank(0)); };
  if (!is_operand(left) || !is_operand(right) || left.offset != right.offset) return {nonsense, 0};
  std::pair pair{left.expression, right.expression};
  if (may_swap_ && pair.first > pair.second) std::swap(pair.first, pair.second);
  const auto [place, is_new] = index_.try_emplace(pair, first_tree() + static_cast<std::uint32_t>(trees_.size()));
  if (is_new) trees_.push_back(pair);
  return {place->second, left.offset};
}

std::vector<int> Expressions::operands(std::uint32_t expression) const {
  if (expression < leaf(Rank(0))) return {};
  if (expression < first_tree()) return {static_cast<int>(expression - leaf(Rank(0)))};
  const auto [left, right] = trees_[expression - first_tree()];
  std::vector<int> all = operands(left);
  const std::vector<int> more = operands(right);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace espalier::verify
