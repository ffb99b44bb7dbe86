#include "algorithms/build.hpp"

#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {
namespace {

void require_valid(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice) {
  const std::string why = why_invalid(topology, problem, choice);
  if (!why.empty()) throw Error(to_string(choice) + " does not apply: " + why);
  if (problem.root.value < 0 || problem.root.value >= topology.ranks())
    throw Error("root " + std::to_string(problem.root.value) + " is not one of " + std::to_string(topology.ranks()) +
                " ranks");
}

/// Whether no byte of a window is for more than one neighbour: blocks that each go to one rank, vectors of which each
/// rank folds its own slice. Which plans it holds for beyond these nobody asks.
bool has_one_reader(const topology::Topology& topology, plan::Operation operation, Rank me) {
  using enum plan::Operation;
  if (topology.size_of(topology.node_of(me)) == 2) return true;
  return operation == scatter || operation == gather || operation == alltoall || operation == reduce ||
         operation == reduce_scatter || operation == neighbor_alltoall;
}

}  // namespace

plan::Program build_program(const topology::Topology& topology, const plan::Problem& problem,
                            const plan::Choice& choice, Rank me) {
  require_valid(topology, problem, choice);
  plan::Builder builder(topology, me);
  if (choice.within == plan::Within::cells) builder.set_stores(choice.stores);
  builder.set_one_reader(has_one_reader(topology, problem.operation, me));
  find_algorithm(problem.operation, choice.between).build(builder, problem, choice);
  return std::move(builder).take();
}

plan::Plan build_plan(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice) {
  plan::Plan plan{topology, problem, choice, {}};
  plan.programs.reserve(static_cast<std::size_t>(topology.ranks()));
  for (int r = 0; r < topology.ranks(); ++r) plan.programs.push_back(build_program(topology, problem, choice, Rank(r)));
  return plan;
}

plan::Plan build_part(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                      std::span<const Rank> ranks) {
  plan::Plan plan{topology, problem, choice, {}};
  plan.programs.resize(static_cast<std::size_t>(topology.ranks()));
  for (const Rank rank : ranks)
    plan.programs[static_cast<std::size_t>(rank.value)] = build_program(topology, problem, choice, rank);
  return plan;
}

}  // namespace espalier::algorithms
