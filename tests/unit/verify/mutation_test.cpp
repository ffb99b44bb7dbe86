// Every wait is there for a reason: without any single one the verifier objects, or the wait was redundant.

#include "faults.hpp"

namespace espalier::verify {
namespace {

bool is_wait(const Step& step) {
  return step.op() == Op::await || step.op() == Op::await_all || step.op() == Op::finish;
}

/// Twice the plan itself with nothing between that would hold ranks together: here claims of a bank are all that
/// protects an earlier call's readers. Repeated without a pause, many plans are in step by themselves and need no
/// claim.
bool is_wrong_when_apart(const Plan& plan, const Plan& mutant) {
  Plan nothing = plan;
  nothing.problem = {Operation::broadcast, 0, Rank(0)};
  for (int r = 0; r < plan.topology.ranks(); ++r)
    nothing.programs[static_cast<std::size_t>(r)] = Builder(plan.topology, Rank(r)).take();
  return !verify_sequence(std::vector{plan, nothing, mutant}).empty();
}

struct Count {
  int waits = 0;
  std::vector<std::string> redundant;
};

/// Leaves out each wait of each rank in turn.
Count drop_each_wait(const Plan& plan) {
  Count count;
  for (int rank = 0; rank < plan.topology.ranks(); ++rank)
    for (int i = 0; i < static_cast<int>(plan.programs[static_cast<std::size_t>(rank)].steps.size()); ++i) {
      Plan mutant = plan;
      const Step step = step_at(mutant, rank, i);
      if (!is_wait(step)) continue;
      ++count.waits;
      drop(mutant, rank, i);
      if (verify(mutant).empty() && !is_wrong_when_apart(plan, mutant))
        count.redundant.push_back("rank " + std::to_string(rank) + ": " + to_string(step));
    }
  return count;
}

/// Leaves each finish out where it is and makes up for it at the end: correct only if nothing relied on it in between.
int postpone_each_finish(const Plan& plan) {
  int unnoticed = 0;
  for (int rank = 0; rank < plan.topology.ranks(); ++rank)
    for (int i = 0; i < static_cast<int>(plan.programs[static_cast<std::size_t>(rank)].steps.size()); ++i) {
      Plan mutant = plan;
      const Step step = step_at(mutant, rank, i);
      if (step.op() != Op::finish) continue;
      drop(mutant, rank, i);
      const bool posts_done = plan.topology.size_of(plan.topology.node_of(Rank(rank))) > 1;
      insert(mutant, rank, static_cast<int>(steps_of(mutant, rank).size()) - posts_done, step);
      unnoticed += verify(mutant).empty();
    }
  return unnoticed;
}

using Texts = std::vector<std::string>;

const std::vector<std::vector<int>> machines = {{0, 0, 0}, {0, 1, 2}, {0, 0, 1, 1, 1}, {0, 1, 0, 2, 1}};

TEST(Mutation, BroadcastsNeedEveryWait) {
  for (const char* choice : {"knomial,cell=64,cells=2", "knomial,radix=3,cell=512,cells=1",
                             "knomial,within=single_copy", "chain,segment=1K,cell=512,cells=3"})
    for (const std::vector<int>& machine : machines) {
      const Count count = drop_each_wait(make(machine, Operation::broadcast, 1500, 0, choice));
      EXPECT_GT(count.waits, 2);
      EXPECT_EQ(count.redundant, Texts{}) << choice << " on " << machine.size() << " ranks";
    }
}

TEST(Mutation, BarriersNeedEveryWait) {
  for (const std::vector<int>& machine : machines)
    EXPECT_EQ(drop_each_wait(make(machine, Operation::barrier, 0, 0, "dissemination")).redundant, Texts{});
}

TEST(Mutation, AllgathersOnOneNodeOrOnePerNodeNeedEveryWait) {
  for (const char* choice : {"ring,cell=512,cells=1", "bruck,cell=512,cells=1", "recursive_doubling,cell=512,cells=1",
                             "ring,within=single_copy"})
    for (const std::vector<int>& machine : {machines[0], machines[1]}) {
      const Count count = drop_each_wait(make(machine, Operation::allgather, 150, 0, choice));
      EXPECT_GT(count.waits, 2);
      EXPECT_EQ(count.redundant, Texts{}) << choice << " on " << machine.size() << " ranks";
    }
}

// The waits known to be redundant, each with its proof. The verifier finds exactly these.

// A root has its whole message from the start: once its neighbour knows that it has entered the call, single copy need
// not hear of each segment.
TEST(Mutation, TheRootsNeighboursNeedHearOfOneSegmentOnly) {
  const Count count =
      drop_each_wait(make({0, 0, 1, 1, 1}, Operation::broadcast, 1500, 0, "chain,segment=1K,within=single_copy"));
  EXPECT_EQ(count.redundant, Texts{"rank 1: await local rank 0's ready >= 3"});
}

// Both parts of what a partner of three nodes sends are there before the first is passed on.
TEST(Mutation, OfTwoPartsOfARoundOneNeedBeHeardOf) {
  const Count count =
      drop_each_wait(make({0, 1, 0, 2, 1}, Operation::allgather, 150, 0, "recursive_doubling,within=single_copy"));
  EXPECT_EQ(count.redundant, Texts{"rank 4: await local rank 0's ready >= 5"});
}

// A leader fills its window when all its neighbours have filled theirs, for which they had to leave the earlier call;
// and a neighbour's window is read by the leader alone, before it passes anything on, which the neighbour waits for.
TEST(Mutation, AllgathersOnSeveralNodesNeedNoClaims) {
  for (const char* choice :
       {"ring,cell=512,cells=1", "bruck,cell=512,cells=1", "recursive_doubling,cell=512,cells=1"}) {
    const Count count = drop_each_wait(make({0, 0, 1, 1, 1}, Operation::allgather, 150, 0, choice));
    Texts claims;
    for (int r = 0; r < 5; ++r)
      claims.push_back("rank " + std::to_string(r) + ": " + to_string(Step::await_all(Flag::done, 1, 2)));
    EXPECT_EQ(count.redundant, claims) << choice;
  }
}

// A neighbour that has filled its cell for piece k has taken everybody's piece k - 1 before.
TEST(Mutation, OneNodeExchangesWithTwoCellsWaitForFreeCellsInVain) {
  const Count count = drop_each_wait(make({0, 0, 0}, Operation::allgather, 150, 0, "ring,cell=64,cells=2"));
  EXPECT_EQ(count.waits, 3 * (1 + 1 + 3 * 2));
  Texts waits;
  for (int r = 0; r < 3; ++r)
    waits.push_back("rank " + std::to_string(r) + ": " + to_string(Step::await_all(Flag::taken, 1)));
  EXPECT_EQ(count.redundant, waits);
}

TEST(Mutation, PostponedFinishesAreNoticedWhereDataAreUsed) {
  const Plan chain = make({0, 1, 2}, Operation::broadcast, 2000, 0, "chain,segment=1K");
  // The root's two sends and the last rank's two receives may as well be finished at the end; the middle rank's sends
  // too.
  EXPECT_EQ(postpone_each_finish(chain), 2 + 2 + 2);
}

}  // namespace
}  // namespace espalier::verify
