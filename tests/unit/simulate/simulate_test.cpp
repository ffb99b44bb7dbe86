// At most one simulation by SimGrid per process: ctest runs each test in its own.

#include "simulate/simulate.hpp"

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "base/error.hpp"
#include "choice/parse.hpp"
#include "cost/estimate.hpp"

namespace espalier::simulate {
namespace {

using plan::Operation;

plan::Plan plan_of(std::vector<int> node_of, Operation operation, Bytes bytes, const std::string& choice) {
  return algorithms::build_plan(topology::Topology::from_nodes(node_of, {.single_copy = true}),
                                {operation, bytes, Rank(0)}, choice::parse_choice(operation, choice));
}

/// By each solver there is.
class Simulate : public ::testing::TestWithParam<const char*> {
 protected:
  static Result simulate(const plan::Plan& plan, const Network& network, const cost::Parameters& is,
                         const Options& options = {}) {
    const bool is_own = std::string_view(GetParam()) == "fluid";
    return (is_own ? simulate_fluid : simulate_simgrid)(plan, network, is, options);
  }

  /// The closed model's network: latency in the links, nothing shared but the adapters.
  static Result simulate_on_star(const plan::Plan& plan, const cost::Parameters& is, const Options& options = {}) {
    const Wiring wiring{.rate = is.link_rate, .latency = {is.latency / 2}};
    return simulate(plan, *make_star(plan.topology.nodes(), wiring), is, options);
  }
};

std::vector<const char*> solvers() {
  if (has_simgrid()) return {"fluid", "simgrid"};
  return {"fluid"};
}

INSTANTIATE_TEST_SUITE_P(Solvers, Simulate, ::testing::ValuesIn(solvers()),
                         [](const auto& solver) { return std::string(solver.param); });

TEST_P(Simulate, OneMessageTakesWhatTheModelSays) {
  const plan::Plan plan = plan_of({0, 1}, Operation::broadcast, 1 << 20, "knomial");
  const cost::Parameters is;
  EXPECT_NEAR(simulate_on_star(plan, is).total, cost::estimate_time(plan, is).total, 0.01);
}

TEST_P(Simulate, AChainAgreesWithTheModelWithinTheFill) {
  const plan::Plan plan = plan_of({0, 0, 1, 1, 2, 2, 3, 3}, Operation::broadcast, 1 << 20, "chain,segment=64K");
  const cost::Parameters is;
  const double model = cost::estimate_time(plan, is).total;
  EXPECT_NEAR(simulate_on_star(plan, is).total, model, 0.15 * model);
}

TEST_P(Simulate, MessagesOfOneAdapterShareIt) {
  const plan::Plan plan = plan_of({0, 1, 2}, Operation::broadcast, 1 << 20, "flat");
  const cost::Parameters is;
  EXPECT_NEAR(simulate_on_star(plan, is).total, 2 * (1 << 20) / is.link_rate, 3);
}

TEST_P(Simulate, AConnectionHasItsOwnBound) {
  const plan::Plan plan = plan_of({0, 1}, Operation::broadcast, 1 << 20, "knomial");
  const cost::Parameters is;
  const double bound = is.link_rate / 1.8;
  EXPECT_NEAR(simulate_on_star(plan, is, {.connection_rate = bound}).total, (1 << 20) / bound, 3);
}

TEST_P(Simulate, FlightsAndSpansTellWhatHappened) {
  const plan::Plan plan = plan_of({0, 0, 1, 1}, Operation::allgather, 4096, "ring");
  const Result result = simulate_on_star(plan, {}, {.keeps_spans = true, .keeps_flights = true});
  std::size_t steps = 0;
  for (const plan::Program& program : plan.programs) steps += program.steps.size();
  EXPECT_EQ(result.spans.size(), steps);
  EXPECT_EQ(result.flights.size(), result.messages);
  for (const Flight& flight : result.flights) EXPECT_LT(flight.set_out, flight.arrival);
}

TEST_P(Simulate, EveryByteSentCrossesTheAdapter) {
  const plan::Plan plan = plan_of({0, 1, 2, 3}, Operation::allgather, 1 << 16, "ring");
  const Result result = simulate_on_star(plan, {});
  for (int host = 0; host < 4; ++host)
    EXPECT_DOUBLE_EQ(result.link_bytes[static_cast<std::size_t>(2 * host)], 3.0 * (1 << 16));
}

TEST_P(Simulate, HostsThatAreNotThereAreRefused) {
  const plan::Plan plan = plan_of({0, 1, 2}, Operation::broadcast, 64, "knomial");
  EXPECT_THROW(simulate(plan, *make_star(2, {}), {}), Error);
}

TEST(Fluid, AgreesWithSimGridWhereLinksAreShared) {
  if (!has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  std::vector<int> node_of;
  for (int rank = 0; rank < 64; ++rank) node_of.push_back(rank / 4);
  const plan::Plan plan = plan_of(node_of, Operation::alltoall, 16 << 10, "pairwise");
  const auto network = parse_network("three_level:pods=2,leaves=2,down=4,spines=2,oversubscription=2");
  const Result simgrid = simulate_simgrid(plan, *network, {}), own = simulate_fluid(plan, *network, {});
  EXPECT_EQ(own.messages, simgrid.messages);
  EXPECT_EQ(own.link_bytes, simgrid.link_bytes);
  for (std::size_t rank = 0; rank < own.ends.size(); ++rank)
    EXPECT_NEAR(own.ends[rank], simgrid.ends[rank], 1e-3 * simgrid.total);
}

TEST(Fluid, PlaysOneAfterTheOther) {
  const plan::Plan plan = plan_of({0, 0, 1, 1, 2, 2}, Operation::allgather, 4096, "ring");
  const Options all{.keeps_spans = true, .keeps_flights = true};
  const auto network = parse_network("star:hosts=3");
  const Result once = simulate_fluid(plan, *network, {}, all), again = simulate_fluid(plan, *network, {}, all);
  EXPECT_EQ(once.total, again.total);
  EXPECT_EQ(once.flights.size(), once.messages);
  EXPECT_EQ(once.spans.size(), again.spans.size());
}

TEST(Fluid, IsTheRemedyWhereSimGridIsMissing) {
  if (has_simgrid()) GTEST_SKIP() << "built with SimGrid: espalier_simulator_alone is the other";
  const plan::Plan plan = plan_of({0, 1}, Operation::broadcast, 64, "knomial");
  EXPECT_THROW(simulate_simgrid(plan, *make_star(2, {}), {}), Error);
}

}  // namespace
}  // namespace espalier::simulate
