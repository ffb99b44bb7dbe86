#include "verify/machine/contents.hpp"

#include <algorithm>

#include "plan/blocks.hpp"

namespace espalier::verify {
namespace {

using plan::Blocks;
using plan::Operation;
using plan::PairBlocks;

/// Where, in what all ranks bring one behind the other, the contribution of one begins.
Bytes brought_before(const plan::Plan& plan, Rank rank) {
  const int ranks = plan.topology.ranks();
  const Operation operation = plan.problem.operation;
  if (operation == Operation::gather || operation == Operation::allgather)
    return Blocks(plan.problem, ranks).begin(rank);
  Bytes before = 0;  // elsewhere only the root brings anything
  const bool all_bring = operation == Operation::alltoall || has_edges(operation);
  for (int r = 0; r < rank.value && all_bring; ++r) before += plan::input_bytes(plan.problem, ranks, Rank(r));
  return before;
}

Value origin(const plan::Plan& plan, Rank rank) {
  if (is_reduction(plan.problem.operation)) return {Expressions::leaf(rank), 0};
  return {Expressions::brought, brought_before(plan, rank)};
}

/// Calls `part(bytes, left value, right value)` for each run in which neither of two contents changes.
template <class Part>
void for_each_common_part(const Contents& left, const Contents& right, Part part) {
  Bytes left_used = 0, right_used = 0;
  for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end();) {
    const Bytes both = std::min(l->bytes - left_used, r->bytes - right_used);
    part(both, l->value.after(left_used), r->value.after(right_used));
    left_used += both, right_used += both;
    if (left_used == l->bytes) ++l, left_used = 0;
    if (right_used == r->bytes) ++r, right_used = 0;
  }
}

Contents wanted_alltoall(const plan::Plan& plan, Rank me) {
  const PairBlocks blocks(plan.problem, plan.topology.ranks());
  Contents contents;
  Bytes before = 0;  // what ranks before `from` bring: asking origin() for each would be quadratic
  for (int r = 0; r < plan.topology.ranks(); ++r) {
    const Rank from(r);
    append(contents, {blocks.bytes(from, me), {Expressions::brought, before + blocks.input_begin(from, me)}});
    before += plan::input_bytes(plan.problem, plan.topology.ranks(), from);
  }
  return contents;
}

/// Each edge's bytes at their place; nothing between them, where nobody may write.
Contents wanted_along_edges(const plan::Plan& plan, Rank me) {
  std::vector<plan::Edge> edges;
  for (const plan::Edge& edge : plan.problem.edges)
    if (edge.to == me && edge.bytes > 0) edges.push_back(edge);
  std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.output_begin < b.output_begin; });
  Contents contents;
  Bytes end = 0;
  for (const plan::Edge& edge : edges) {
    append(contents, {edge.output_begin - end, {}});
    append(contents, {edge.bytes, {Expressions::brought, brought_before(plan, edge.from) + edge.input_begin}});
    end = edge.output_begin + edge.bytes;
  }
  return contents;
}

std::string to_string(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? " o " : "") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

Contents nothing(Bytes bytes) {
  Contents contents;
  append(contents, {bytes, {}});
  return contents;
}

Contents brought_input(const plan::Plan& plan, Rank me) {
  Contents contents;
  append(contents, {plan::input_bytes(plan.problem, plan.topology.ranks(), me), origin(plan, me)});
  return contents;
}

Contents brought_output(const plan::Plan& plan, Rank me) {
  const Bytes bytes = plan::output_bytes(plan.problem, plan.topology.ranks(), me);
  const bool brings = plan.problem.operation == Operation::broadcast && plan.problem.root == me;
  Contents contents;
  append(contents, {bytes, brings ? origin(plan, me) : Value{}});
  return contents;
}

Contents embedded(const Contents& part, Bytes offset, Bytes bytes) {
  Contents contents = nothing(offset);
  for (const Piece& piece : part) append(contents, piece), offset += piece.bytes;
  append(contents, {bytes - offset, {}});
  return contents;
}

Contents wanted_output(const plan::Plan& plan, Rank me) {
  const int ranks = plan.topology.ranks();
  const Bytes bytes = plan::output_bytes(plan.problem, ranks, me);
  if (plan.problem.operation == Operation::alltoall) return wanted_alltoall(plan, me);
  if (has_edges(plan.problem.operation)) return wanted_along_edges(plan, me);
  const bool is_part = plan.problem.operation == Operation::scatter;
  Contents contents;
  append(contents, {bytes, {Expressions::brought, is_part ? Blocks(plan.problem, ranks).begin(me) : 0}});
  return contents;
}

Wanted wanted_reduction(const plan::Plan& plan, Rank me) {
  const int last = plan.topology.ranks() - 1;
  const Operation operation = plan.problem.operation;
  if (operation == Operation::scan) return {0, me.value, 0};
  if (operation == Operation::exscan) return {0, me.value - 1, 0};
  return {0, last, operation == Operation::reduce_scatter ? Blocks(plan.problem, last + 1).begin(me) : 0};
}

bool is_wanted(const Expressions& expressions, std::uint32_t expression, const Wanted& wanted, bool is_commutative) {
  std::vector<int> operands = expressions.operands(expression);
  if (is_commutative) std::sort(operands.begin(), operands.end());
  if (static_cast<int>(operands.size()) != wanted.last - wanted.first + 1) return false;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] != wanted.first + static_cast<int>(i)) return false;
  return true;
}

std::vector<Difference> compare(const Contents& found, const Contents& wanted) {
  std::vector<Difference> differences;
  Bytes at = 0;
  for_each_common_part(found, wanted, [&](Bytes bytes, const Value& here, const Value& there) {
    if (here != there) differences.push_back({{at, at + bytes}, here, there});
    at += bytes;
  });
  return differences;
}

Contents combine(const Contents& left, const Contents& right, Expressions& expressions) {
  Contents contents;
  for_each_common_part(left, right, [&](Bytes bytes, const Value& l, const Value& r) {
    append(contents, {bytes, expressions.combine(l, r)});
  });
  return contents;
}

std::string to_string(const Value& value, const plan::Plan& plan, const Expressions& expressions) {
  if (value.expression == Value::undefined) return "nothing that was written in this call";
  if (value.expression == Expressions::nonsense) return "a reduction of operands that do not belong together";
  if (value.expression != Expressions::brought)
    return "byte " + std::to_string(value.offset) + " of " + to_string(expressions.operands(value.expression));
  const bool comes_from_root =
      plan.problem.operation == Operation::broadcast || plan.problem.operation == Operation::scatter;
  Rank rank = comes_from_root ? plan.problem.root : Rank(0);
  if (!comes_from_root)
    while (rank.value + 1 < plan.topology.ranks() && brought_before(plan, Rank(rank.value + 1)) <= value.offset)
      ++rank.value;
  return "byte " + std::to_string(value.offset - brought_before(plan, rank)) + " of what rank " +
         std::to_string(rank.value) + " brought";
}

}  // namespace espalier::verify
