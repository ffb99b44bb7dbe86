#include "verify/contents.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using plan::Operation;

/// The expression for what a rank brought: every operation so far lets a rank bring one buffer only.
Value origin(Rank rank) { return {static_cast<std::uint32_t>(rank.value) + 1, 0}; }

}  // namespace

Contents nothing(Bytes bytes) {
  Contents contents;
  append(contents, {bytes, {}});
  return contents;
}

Contents brought_input(const plan::Plan& plan, Rank me) {
  Contents contents;
  append(contents, {plan::input_bytes(plan.problem), origin(me)});
  return contents;
}

Contents brought_output(const plan::Plan& plan, Rank me) {
  const Bytes bytes = plan::output_bytes(plan.problem, plan.topology.ranks());
  const bool brings = plan.problem.operation == Operation::broadcast && plan.problem.root == me;
  Contents contents;
  append(contents, {bytes, brings ? origin(me) : Value{}});
  return contents;
}

Contents brought_in_place(const plan::Plan& plan, Rank me) {
  const Bytes block = plan.problem.bytes;
  const auto before = static_cast<Bytes>(me.value);
  Contents contents = nothing(before * block);
  append(contents, {block, origin(me)});
  append(contents, {(static_cast<Bytes>(plan.topology.ranks()) - before - 1) * block, {}});
  return contents;
}

Contents wanted_output(const plan::Plan& plan) {
  Contents contents;
  if (plan.problem.operation == Operation::broadcast) append(contents, {plan.problem.bytes, origin(plan.problem.root)});
  if (plan.problem.operation == Operation::allgather)
    for (int r = 0; r < plan.topology.ranks(); ++r) append(contents, {plan.problem.bytes, origin(Rank(r))});
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

std::string to_string(const Value& value) {
  if (value.expression == Value::undefined) return "nothing that was written in this call";
  return "byte " + std::to_string(value.offset) + " of what rank " + std::to_string(value.expression - 1) + " brought";
}

}  // namespace espalier::verify
