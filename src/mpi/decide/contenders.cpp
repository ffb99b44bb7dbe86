#include "mpi/decide/contenders.hpp"

#include <algorithm>

#include "choice/choose.hpp"

namespace espalier::mpi {
namespace {

// Besides native and the dedicated path: more would be looked at for longer than they could save.
constexpr std::size_t most_plans = 3;

// The model is off by a factor where it knows least, with short calls; what it thinks far worse is not worth one long
// call.
constexpr double long_call_us = 200, most_if_short = 3, most_if_long = 1.3;

bool is_alike(const plan::Choice& a, const plan::Choice& b) {
  return a.between == b.between && a.within == b.within && a.exchange == b.exchange && a.levels == b.levels;
}

std::vector<plan::Choice> find_plans(const topology::Topology& topology, const plan::Problem& problem,
                                     const cost::Parameters& parameters) {
  std::vector<plan::Choice> found;
  double most = 0;
  for (const auto& [choice, us] : choice::rank_choices(topology, problem, parameters)) {
    if (found.empty()) most = us * (us > long_call_us ? most_if_long : most_if_short);
    const auto is_known = [&](const plan::Choice& it) { return is_alike(it, choice); };
    if (us > most || std::any_of(found.begin(), found.end(), is_known)) continue;
    found.push_back(choice);
    if (found.size() == most_plans) break;
  }
  return found;
}

}  // namespace

std::vector<Selection> derive_contenders(const topology::Topology& topology, const plan::Problem& problem,
                                         const cost::Parameters& parameters) {
  std::vector<Selection> all;
  for (const plan::Choice& choice : find_plans(topology, problem, parameters))
    all.push_back({Selection::Kind::plan, choice});
  const bool may_be_tiny = topology.nodes() == 1 && plan::is_tiny(problem, topology.ranks());
  if (may_be_tiny) {
    const bool is_usual = choice::prefers_tiny(topology, problem) || all.empty();
    all.insert(is_usual ? all.begin() : all.begin() + 1, {Selection::Kind::tiny});
  }
  // Of several edges between two ranks it may deliver another's block.
  const bool may_be_native = !has_edges(problem.operation) || problem.has_single_edges;
  if (!all.empty() && may_be_native) all.push_back({Selection::Kind::native});
  return all;
}

bool may_change_hands(const topology::Topology& topology, const plan::Problem& problem) {
  if (!plan::is_reduction(problem.operation) || !problem.depends_on_order) return true;
  return topology.ranks() == 2 && problem.may_swap();
}

std::string to_string(const Selection& selection) {
  switch (selection.kind) {
    case Selection::Kind::native: return "native";
    case Selection::Kind::tiny: return to_string(selection.dedicated);
    case Selection::Kind::plan: return plan::to_string(selection.choice);
  }
  return "";
}

}  // namespace espalier::mpi
