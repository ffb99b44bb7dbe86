#include "verify/verify.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "verify/machine/machine.hpp"
#include "verify/machine/messages.hpp"
#include "verify/rules.hpp"

namespace espalier::verify {
namespace {

using Calls = std::vector<const plan::Plan*>;

bool is_same_place(const topology::Topology& a, const topology::Topology& b) {
  if (a.ranks() != b.ranks()) return false;
  for (int r = 0; r < a.ranks(); ++r)
    if (a.node_of(Rank(r)) != b.node_of(Rank(r))) return false;
  return true;
}

bool has_form_in_place(const plan::Plan* plan) {
  for (int r = 0; r < plan->topology.ranks(); ++r)
    if (plan::alias_of(plan->problem, plan->topology.ranks(), Rank(r)).kind != plan::Alias::none) return true;
  return false;
}

/// Stops at the first stage that finds something: the next one relies on it.
std::vector<Violation> verify_calls(const Calls& calls) {
  Report report;
  std::map<const plan::Plan*, Wiring> wiring_of;
  for (const plan::Plan* plan : calls) wiring_of[plan];
  for (const auto& [plan, wiring] : wiring_of) check_rules(*plan, report);
  if (!report.empty()) return std::move(report).take();
  for (auto& [plan, wiring] : wiring_of) wiring = wire_messages(*plan, report);
  if (!report.empty()) return std::move(report).take();

  std::vector<const Wiring*> wirings;
  for (const plan::Plan* plan : calls) wirings.push_back(&wiring_of[plan]);
  Machine(calls, wirings, Placement::apart, report).run();
  if (report.empty() && std::any_of(calls.begin(), calls.end(), has_form_in_place))
    Machine(calls, wirings, Placement::in_place, report).run();
  return std::move(report).take();
}

}  // namespace

std::vector<Violation> verify(const plan::Plan& plan) { return verify_calls(Calls(plan::window_banks + 1, &plan)); }

std::vector<Violation> verify_sequence(std::span<const plan::Plan> calls) {
  Calls all;
  for (const plan::Plan& plan : calls) {
    if (!is_same_place(plan.topology, calls.front().topology))
      throw Error("verify_sequence: all calls must be on one topology");
    all.push_back(&plan);
  }
  return all.empty() ? std::vector<Violation>{} : verify_calls(all);
}

}  // namespace espalier::verify
