// Rehearsals of orders against the plans that have them, on the same network.

#include "trees/rehearsal.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/build.hpp"
#include "algorithms/parts/node_order.hpp"
#include "choice/parse.hpp"
#include "simulate/network.hpp"
#include "simulate/placement.hpp"
#include "simulate/simulate.hpp"

namespace espalier::simulate {
namespace {

using plan::Operation;
using topology::Topology;

struct Work {
  Operation operation;
  Bytes bytes;
  const char* choice;
  double off;  ///< what a rehearsal may be off: more where many messages meet again and again
};

const Work all_work[] = {
    {Operation::broadcast, 8, "knomial", 0.03},
    {Operation::broadcast, 64 << 10, "knomial", 0.03},
    {Operation::broadcast, 1 << 20, "knomial,radix=4", 0.03},
    {Operation::broadcast, 1 << 20, "binary,segment=16K", 0.03},
    {Operation::broadcast, 256 << 10, "chain,segment=64K", 0.03},
    {Operation::broadcast, 1 << 20, "scatter_allgather", 0.16},
    {Operation::scatter, 4 << 10, "knomial", 0.03},
    {Operation::gather, 4 << 10, "knomial", 0.03},
    {Operation::reduce, 8, "knomial", 0.06},
    {Operation::reduce, 256 << 10, "knomial", 0.06},
    {Operation::allgather, 16 << 10, "ring", 0.12},
};

/// Rehearsed ÷ simulated, where 32 nodes of one rank lie at random.
double ratio(const Network& network, const Work& work, const std::string& order) {
  const std::vector<int> hosts = place_nodes(network, "random:3", 32);
  std::vector<int> node_of;
  for (int node = 0; node < 32; ++node) node_of.push_back(node);
  const Topology topology =
      Topology::from_nodes(node_of, {}).with_distances(derive_distances(network, hosts, "combined"));
  const plan::Problem problem{work.operation, work.bytes};
  const plan::Choice choice = choice::parse_choice(work.operation, std::string(work.choice) + ",order=" + order);
  const trees::Layout layout = algorithms::derive_layout(topology, problem, choice);
  const trees::Order laid = algorithms::derive_node_order(topology, problem, choice);
  const trees::Rehearsal rehearsal(topology.distances(), layout, trees::derive_branches(layout, 32));
  Options options;
  options.host_of_node = hosts;
  const plan::Plan plan = algorithms::build_plan(topology, problem, choice);
  return rehearsal.of(laid.node_at) / simulate_fluid(plan, network, {}, options).total;
}

TEST(Rehearsal, TakesAsLongAsThePlanThatItStandsFor) {
  for (const char* network :
       {"fat_tree:leaves=8,down=8,spines=2,oversubscription=4",
        "three_level:pods=3,leaves=3,down=8,spines=2,oversubscription=2", "dragonfly:groups=5,routers=3,down=4"})
    for (const Work& work : all_work)
      for (const char* order : {"natural", "breadth", "depth"}) {
        EXPECT_NEAR(ratio(*parse_network(network), work, order), 1, work.off)
            << network << ", " << work.choice << ", " << order << ", " << work.bytes;
      }
}

}  // namespace
}  // namespace espalier::simulate
