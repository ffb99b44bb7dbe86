// Different calls in a row on one communicator.

#include "base/error.hpp"
#include "faults.hpp"
#include "verify/plans/random.hpp"

namespace espalier::verify {
namespace {

const std::vector<int> node_of = {0, 1, 0, 0, 1};

TEST(Sequence, MixedCallsShareWindowsAndFlags) {
  std::vector<Plan> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(make(node_of, Operation::broadcast, 300, i, "knomial,cell=64,cells=3"));
    calls.push_back(make(node_of, Operation::allgather, 100, 0, "bruck,cell=96,cells=2"));
    calls.push_back(make(node_of, Operation::broadcast, 300, 4, "chain,segment=1K,within=single_copy"));
    calls.push_back(make(node_of, Operation::barrier, 0, 0, "dissemination"));
    calls.push_back(make(node_of, Operation::allgather, 0, 0, "ring"));
  }
  const std::vector<Violation> found = verify_sequence(calls);
  EXPECT_TRUE(found.empty()) << list(found);
}

TEST(Sequence, AFaultIsReportedInItsCall) {
  std::vector<Plan> calls(3, make(node_of, Operation::broadcast, 64, 0, "knomial,cell=64,cells=1"));
  drop(calls[1], 3, find(calls[1], 3, Op::get));
  const std::vector<Violation> found = verify_sequence(calls);
  ASSERT_EQ(found.size(), 1u) << list(found);
  EXPECT_EQ(found[0].kind, Kind::data);
  EXPECT_EQ(found[0].rank, Rank(3));
  EXPECT_EQ(found[0].call, 2);
}

TEST(Sequence, TheNextCallMayNotOverwriteWhatAnEarlierOneStillReads) {
  // The claim of the third call is what protects the first one's readers, whatever the third call is.
  std::vector<Plan> calls(3, make({0, 0, 0}, Operation::broadcast, 64, 0, "knomial,cell=64,cells=1"));
  calls[2] = make({0, 0, 0}, Operation::allgather, 64, 0, "ring,cell=64,cells=1");
  EXPECT_TRUE(verify_sequence(calls).empty());
  drop(calls[2], 0, find(calls[2], 0, Op::await_all));
  const std::vector<Violation> found = verify_sequence(calls);
  expect_found(found, Kind::race, 1, find(calls[0], 1, Op::get), 0, 64);
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].text.find("rank 0's step 0 of call 3 (put"), std::string::npos) << list(found);
}

// What a queue of started runs makes: a rank begins a call when it has left the one before, and others may be in that
// still, or one further. Any two of the random calls on a machine share its cells, flags and banks.
TEST(Sequence, RandomCallsOnOneMachineDoNotDisturbEachOther) {
  Outcome outcome;
  for (std::uint64_t i = 0; i < 40; ++i) {
    Random random(11, i);
    const Specimen first = draw_specimen(random, 24);
    prove_in_turn(first, draw_call(random, first), outcome);
  }
  for (const Outcome::Failure& failure : outcome.failures)
    ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
}

TEST(Sequence, NoCallsAreCorrect) { EXPECT_TRUE(verify_sequence({}).empty()); }

TEST(Sequence, CallsOnDifferentPlacementsAreRefused) {
  const std::vector<Plan> calls = {make({0, 0}, Operation::barrier, 0, 0, "dissemination"),
                                   make({0, 1}, Operation::barrier, 0, 0, "dissemination")};
  EXPECT_THROW(verify_sequence(calls), Error);
}

}  // namespace
}  // namespace espalier::verify
