// Through which ranks data enter and leave nodes, read off the programs themselves: the rules of leaders/direction.hpp
// hold for every algorithm there is, whatever it asks its speakers for.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "leaders/cluster.hpp"
#include "leaders/direction.hpp"

namespace espalier::algorithms {
namespace {

using leaders::Policy;
using plan::Between;
using plan::Choice;
using plan::Op;
using plan::Operation;
using plan::Plan;
using plan::Problem;
using topology::Topology;

constexpr int root = 6;

// The paper's figure 3: four nodes of four ranks, the card near the second of them.
Topology figure_3() { return testing::cluster(testing::snapshot("opteron-4s"), machine::Mapping::scattered, 4, 4); }

// Ranks that have steps of this kind, on one node.
std::set<int> ranks_with(const Plan& plan, int node, Op op) {
  std::set<int> ranks;
  for (const Rank rank : plan.topology.ranks_on(NodeId(node)))
    for (const plan::Step& step : plan.programs[static_cast<std::size_t>(rank.value)].steps)
      if (step.op() == op) ranks.insert(rank.value);
  return ranks;
}

bool is_spoken_for(const Algorithm& algorithm) {
  // Pairwise, every rank speaks for itself; a chain of prefixes is in rank order, because that is its meaning.
  const bool is_scan = algorithm.operation == Operation::scan || algorithm.operation == Operation::exscan;
  return algorithm.between != Between::pairwise && !is_scan;
}

/// A chain of all ranks leaves a node from whichever is the last there.
bool is_threaded(const Algorithm& algorithm) { return algorithm.name() == "broadcast_threaded"; }

bool has_groups(const Algorithm& algorithm) {
  return std::string_view(algorithm.knobs).find("groups") != std::string_view::npos;
}

// Plans of an algorithm with 1 to 3 groups and all exchanges, where it has such.
template <class Visit>
void for_each_plan(const Algorithm& algorithm, const Topology& topology, Visit visit) {
  using plan::Exchange;
  const Problem problem{algorithm.operation, algorithm.operation == Operation::barrier ? 0u : 4096u,
                        plan::has_root(algorithm.operation) ? Rank(root) : Rank(0), 8};
  for (const int groups : {1, 2, 3})
    for (const auto exchange : {Exchange::direct, Exchange::ring, Exchange::bruck, Exchange::recursive_doubling}) {
      Choice choice;
      choice.between = algorithm.between;
      choice.groups = groups;
      choice.exchange = exchange;
      choice.segment = 1024;
      if (!why_invalid(topology, problem, choice).empty()) choice.segment = 0;
      if (!why_invalid(topology, problem, choice).empty()) continue;
      visit(build_plan(topology, problem, choice), has_groups(algorithm) ? groups : 1);
      if (!has_groups(algorithm)) return;
    }
}

// Nearest first, and the root where it is at home.
std::set<int> may_receive(const Topology& topology, const Problem& problem, int node, int count) {
  leaders::Call call{problem.operation, problem.root, Policy::near, count, true};
  std::set<int> ranks;
  for (const auto& leader : derive_leaders(topology, NodeId(node), call).leaders) ranks.insert(leader.rank.value);
  return ranks;
}

bool is_within(const std::set<int>& some, const std::set<int>& all) { return std::ranges::includes(all, some); }

TEST(Entrance, OfEveryNodeIsANearRankInEveryAlgorithm) {
  const Topology topology = figure_3();
  int plans = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!is_spoken_for(algorithm)) continue;
    for_each_plan(algorithm, topology, [&](const Plan& plan, int groups) {
      ++plans;
      for (int node = 0; node < topology.nodes(); ++node)
        EXPECT_TRUE(is_within(ranks_with(plan, node, Op::recv), may_receive(topology, plan.problem, node, groups)))
            << algorithm.name() << ", " << to_string(plan.choice) << ", node " << node;
    });
  }
  EXPECT_GT(plans, 60);
}

TEST(Entrance, OfChainsAndRingsIsOneNearRankAndSoIsTheWayOut) {
  const Topology topology = figure_3();
  for (const char* name : {"broadcast_chain", "allgather_ring", "allgather_single_group_ring", "allreduce_ring"})
    for (const Algorithm& algorithm : algorithms()) {
      if (std::string_view(algorithm.name()) != name) continue;
      for_each_plan(algorithm, topology, [&](const Plan& plan, int) {
        std::set<int> entered;
        for (int node = 0; node < topology.nodes(); ++node) {
          std::set<int> speaking = ranks_with(plan, node, Op::recv);
          speaking.merge(ranks_with(plan, node, Op::send));
          EXPECT_EQ(speaking.size(), 1u) << name << ", node " << node;
          entered.merge(speaking);
        }
        const bool is_rooted = plan::has_root(plan.problem.operation);
        EXPECT_EQ(entered, (std::set<int>{1, is_rooted ? root : 5, 9, 13})) << name;
      });
    }
}

TEST(Direction, AChainOfAllRanksEntersNodesBesideTheirCards) {
  const auto entered = [](const char* text) {
    const Plan plan = build_plan(figure_3(), {Operation::broadcast, 4096, Rank(root)},
                                 choice::parse_choice(Operation::broadcast, text));
    std::set<int> ranks;
    for (int node = 0; node < 4; ++node) ranks.merge(ranks_with(plan, node, Op::recv));
    return ranks;
  };
  EXPECT_EQ(entered("threaded"), (std::set<int>{1, 9, 13}));
  EXPECT_EQ(entered("threaded,leaders=natural"), (std::set<int>{0, 8, 12}));
}

TEST(Direction, TheRootItselfSendsAndReceives) {
  const Topology topology = figure_3();
  const int home = topology.node_of(Rank(root)).value;
  for (const Algorithm& algorithm : algorithms()) {
    if (!plan::has_root(algorithm.operation) || has_groups(algorithm) || is_threaded(algorithm)) continue;
    for_each_plan(algorithm, topology, [&](const Plan& plan, int) {
      std::set<int> speaking = ranks_with(plan, home, Op::send);
      speaking.merge(ranks_with(plan, home, Op::recv));
      EXPECT_EQ(speaking, std::set<int>{root}) << algorithm.name() << ": never handed over to a near rank";
    });
  }
}

TEST(Direction, NodesThatOnlySendLeaveItToTheirFirstRanks) {
  const Topology topology = figure_3();
  const int home = topology.node_of(Rank(root)).value;
  int seen = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation != Operation::gather && algorithm.operation != Operation::reduce) continue;
    if (!is_spoken_for(algorithm) || algorithm.between == Between::rabenseifner) continue;  // there all receive
    for_each_plan(algorithm, topology, [&](const Plan& plan, int) {
      for (int node = 0; node < topology.nodes(); ++node) {
        if (node == home || !ranks_with(plan, node, Op::recv).empty()) continue;
        EXPECT_EQ(ranks_with(plan, node, Op::send), std::set<int>{4 * node}) << algorithm.name() << ", node " << node;
        ++seen;
      }
    });
  }
  EXPECT_GE(seen, 6);
}

TEST(Direction, DecidesNothingWhereNothingIsKnown) {
  const Topology known = figure_3();
  std::vector<int> node_of;
  for (int r = 0; r < known.ranks(); ++r) node_of.push_back(known.node_of(Rank(r)).value);
  const Topology topology = Topology::from_nodes(node_of);
  for (const Algorithm& algorithm : algorithms()) {
    if (!is_spoken_for(algorithm) || has_groups(algorithm)) continue;
    for_each_plan(algorithm, topology, [&](const Plan& plan, int) {
      for (int node = 0; node < topology.nodes(); ++node)
        EXPECT_TRUE(is_within(ranks_with(plan, node, Op::recv), {4 * node, root})) << algorithm.name();
    });
  }
}

}  // namespace
}  // namespace espalier::algorithms
