// Condensed programs take as long as those that they stand for.

#include "cost/condense.hpp"

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "choice/parse.hpp"
#include "cost/estimate.hpp"

namespace espalier::cost {
namespace {

using plan::Operation;
using plan::Plan;

std::size_t steps_of(const Plan& plan) {
  std::size_t steps = 0;
  for (const plan::Program& program : plan.programs) steps += program.steps.size();
  return steps;
}

Plan condensed(Plan plan) {
  const Parameters is = Parameters{}.met_by(plan.topology, plan.problem);
  for (std::size_t r = 0; r < plan.programs.size(); ++r)
    plan.programs[r] = condense(plan.programs[r], plan.topology.local_rank(Rank(static_cast<int>(r))), is);
  return plan;
}

TEST(Condense, TakesAsLongWithFewerSteps) {
  std::vector<int> node_of;
  for (int r = 0; r < 64; ++r) node_of.push_back(r / 4);
  const auto topology = topology::Topology::from_nodes(node_of, {.single_copy = true});
  for (const auto& [operation, text] :
       {std::pair{Operation::allgather, "recursive_doubling,order=depth,cell=4K,cells=2"},
        {Operation::allgather, "recursive_doubling,order=depth,within=single_copy"},
        {Operation::allgather, "multi_group,groups=2"},
        {Operation::alltoall, "multi_group,groups=2,cell=64K,cells=4"},
        {Operation::allreduce, "multi_group,groups=4,segment=4K"}}) {
    const Plan plan = algorithms::build_plan(topology, {operation, 1 << 10}, choice::parse_choice(operation, text));
    const Plan shorter = condensed(plan);
    EXPECT_LT(steps_of(shorter), steps_of(plan)) << text;
    EXPECT_NEAR(estimate_time(shorter).total, estimate_time(plan).total, 1e-2) << text;
  }
}

TEST(Condense, LeavesWhatStandsAlone) {
  const auto topology = topology::Topology::from_nodes(std::vector{0, 1, 2, 3}, {});
  const Plan plan = algorithms::build_plan(topology, {Operation::broadcast, 1 << 10},
                                           choice::parse_choice(Operation::broadcast, "knomial"));
  const Plan same = condensed(plan);
  for (std::size_t r = 0; r < plan.programs.size(); ++r) EXPECT_EQ(same.programs[r].steps, plan.programs[r].steps);
}

}  // namespace
}  // namespace espalier::cost
