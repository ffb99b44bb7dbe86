#include "verify/contents.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using plan::Operation;

/// What all ranks bring, one after the other, is one expression: what neighbours in rank order bring together is one
/// piece.
constexpr std::uint32_t brought = 1;

Value origin(const plan::Plan& plan, Rank rank) {
  const bool is_one_of_many = plan.problem.operation == Operation::allgather;
  return {brought, is_one_of_many ? static_cast<Bytes>(rank.value) * plan.problem.bytes : 0};
}

}  // namespace

Contents nothing(Bytes bytes) {
  Contents contents;
  append(contents, {bytes, {}});
  return contents;
}

Contents brought_input(const plan::Plan& plan, Rank me) {
  Contents contents;
  append(contents, {plan::input_bytes(plan.problem), origin(plan, me)});
  return contents;
}

Contents brought_output(const plan::Plan& plan, Rank me) {
  const Bytes bytes = plan::output_bytes(plan.problem, plan.topology.ranks());
  const bool brings = plan.problem.operation == Operation::broadcast && plan.problem.root == me;
  Contents contents;
  append(contents, {bytes, brings ? origin(plan, me) : Value{}});
  return contents;
}

Contents brought_in_place(const plan::Plan& plan, Rank me) {
  const Bytes block = plan.problem.bytes;
  const auto before = static_cast<Bytes>(me.value);
  Contents contents = nothing(before * block);
  append(contents, {block, origin(plan, me)});
  append(contents, {(static_cast<Bytes>(plan.topology.ranks()) - before - 1) * block, {}});
  return contents;
}

Contents wanted_output(const plan::Plan& plan) {
  Contents contents;
  if (plan.problem.operation == Operation::broadcast)
    append(contents, {plan.problem.bytes, origin(plan, plan.problem.root)});
  if (plan.problem.operation == Operation::allgather)
    for (int r = 0; r < plan.topology.ranks(); ++r) append(contents, {plan.problem.bytes, origin(plan, Rank(r))});
  return contents;
}

std::vector<Difference> compare(const Contents& found, const Contents& wanted) {
  std::vector<Difference> differences;
  Bytes at = 0, used = 0, wanted_used = 0;
  for (auto f = found.begin(), w = wanted.begin(); f != found.end() && w != wanted.end();) {
    const Bytes both = std::min(f->bytes - used, w->bytes - wanted_used);
    const Value here = f->value.after(used);
    const Value there = w->value.after(wanted_used);
    if (here != there) differences.push_back({{at, at + both}, here, there});
    at += both, used += both, wanted_used += both;
    if (used == f->bytes) ++f, used = 0;
    if (wanted_used == w->bytes) ++w, wanted_used = 0;
  }
  return differences;
}

std::string to_string(const Value& value, const plan::Plan& plan) {
  if (value.expression == Value::undefined) return "nothing that was written in this call";
  const bool is_one_of_many = plan.problem.operation == Operation::allgather;
  const Bytes rank = is_one_of_many ? value.offset / plan.problem.bytes : static_cast<Bytes>(plan.problem.root.value);
  const Bytes offset = is_one_of_many ? value.offset % plan.problem.bytes : value.offset;
  return "byte " + std::to_string(offset) + " of what rank " + std::to_string(rank) + " brought";
}

}  // namespace espalier::verify
