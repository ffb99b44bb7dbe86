// What the builders make is correct, on every placement and small machine.

#include "faults.hpp"
#include "placements.hpp"
#include "verify/plans/exhaustive.hpp"

namespace espalier::verify {
namespace {

TEST(CorrectPlans, EveryAlgorithmOnEveryPlacementPasses) {
  for (const testing::Placement& placement : testing::placements())
    for (const algorithms::Algorithm& algorithm : algorithms::algorithms())
      for (const char* knobs : {",within=cells,cell=64,cells=2", ",within=single_copy", ",segment=1K,cell=96,cells=3"})
        for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{64}, Bytes{2049}}) {
          const Bytes size = algorithm.operation == Operation::barrier ? 0 : bytes;
          SCOPED_TRACE(std::string(algorithm.name()) + knobs + " on " + placement.name + ", " + std::to_string(size) +
                       " bytes");
          const auto choice = choice::parse_choice(algorithm.operation, algorithm.name() + std::string(knobs));
          const Problem problem{algorithm.operation, size, Rank(0)};
          if (algorithms::why_invalid(place(placement.node_of), problem, choice).empty())
            expect_correct(algorithms::build_plan(place(placement.node_of), problem, choice));
        }
}

// Each number of ranks by itself: together they would keep one processor busy when the others have long done the rest.
class OfSmallMachines : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(CorrectPlans, OfSmallMachines, ::testing::Range(1, 10));

TEST_P(OfSmallMachines, EveryOnePasses) {
  const Outcome outcome = verify_exhaustive(GetParam(), GetParam());
  EXPECT_GT(outcome.checked, 5000u);
  for (const Outcome::Failure& failure : outcome.failures)
    ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
}

TEST(CorrectPlans, PushedSharesPass) {
  for (const std::vector<int>& node_of : {std::vector{0, 0, 0, 1, 2, 2, 2}, std::vector{0, 0, 0, 0}})
    expect_correct(make(node_of, Operation::broadcast, 200001, 1, "knomial,within=single_copy"));
}

}  // namespace
}  // namespace espalier::verify
