// Reductions: every rank's contribution once, in rank order unless that does not matter, the same tree everywhere.

#include "faults.hpp"

namespace espalier::verify {
namespace {

constexpr Bytes bytes = 32;

Problem reduction(Operation operation, bool is_commutative) {
  Problem problem{operation, bytes};
  problem.element = 8;
  problem.is_commutative = is_commutative;
  return problem;
}

/// All show their input; each takes the last one's and folds the others in, in the order given.
template <class Order>
Plan fold_everywhere(const Problem& problem, int ranks, Order order_of) {
  return write_plan(std::vector<int>(static_cast<std::size_t>(ranks), 0), problem, [&](Builder& builder) {
    builder.claim_window();
    builder.put(Buffer::input, 0, bytes, 0);
    builder.post(Flag::ready, 1);
    builder.await_neighbours(Flag::ready, 1);
    const std::vector<int> order = order_of(builder.me().value);
    builder.get(LocalRank(order.front()), 0, Buffer::output, 0, bytes);
    for (std::size_t i = 1; i < order.size(); ++i) builder.reduce(LocalRank(order[i]), 0, Buffer::output, 0, bytes);
  });
}

int end_of(const Plan& plan, int rank) {
  return static_cast<int>(plan.programs[static_cast<std::size_t>(rank)].steps.size());
}

const auto downwards = [](int) { return std::vector{2, 1, 0}; };
const auto own_first = [](int me) { return std::vector{me, (me + 1) % 3, (me + 2) % 3}; };

TEST(Reduction, FoldingDownwardsIsRankOrder) {
  expect_correct(fold_everywhere(reduction(Operation::allreduce, false), 3, downwards));
}

TEST(Reduction, OrderMattersUnlessCommutative) {
  const auto upwards = [](int) { return std::vector{0, 1, 2}; };
  expect_correct(fold_everywhere(reduction(Operation::allreduce, true), 3, upwards));
  const Plan plan = fold_everywhere(reduction(Operation::allreduce, false), 3, upwards);
  expect_fault(plan, Kind::data, 0, end_of(plan, 0), 0, bytes);
}

// Each rank's sum is right, but rounded differently.
TEST(Reduction, AllRanksMustCombineInTheSameOrder) {
  const Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, own_first);
  expect_fault(plan, Kind::data, 1, end_of(plan, 1), 0, bytes);
}

TEST(Reduction, OfTwoCommutingOperandsThereIsOnlyOneOrder) {
  const auto own_of_two = [](int me) { return std::vector{me, 1 - me}; };
  expect_correct(fold_everywhere(reduction(Operation::allreduce, true), 2, own_of_two));
}

// A user's maximum may commute in value and not in bits: of NaN and a number it takes the second, say.
TEST(Reduction, OfTwoOperandsThatCommuteInValueOnlyThereAreTwoOrders) {
  const auto own_of_two = [](int me) { return std::vector{me, 1 - me}; };
  Problem problem = reduction(Operation::allreduce, true);
  problem.is_symmetric = false;
  const Plan plan = fold_everywhere(problem, 2, own_of_two);
  expect_fault(plan, Kind::data, 1, end_of(plan, 1), 0, bytes);
  expect_correct(fold_everywhere(problem, 3, [](int) { return std::vector{1, 2, 0}; }));
}

/// One node of four, two of two, four of one; large enough for slices, and for several pieces.
const std::vector<std::vector<int>> places = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2, 3}};

template <class Visit>
void for_each_allreduce(Visit visit) {
  for (const std::vector<int>& node_of : places)
    for (const char* text : {"gather_reduce", "recursive_doubling", "rabenseifner", "ring",
                             "multi_group,groups=2,exchange=recursive_doubling", "multi_group,groups=2,exchange=ring",
                             "multi_group,groups=2,exchange=direct,radix=4"}) {
      const plan::Choice choice = choice::parse_choice(Operation::allreduce, std::string(text) + ",cell=1K,cells=2");
      Problem problem = reduction(Operation::allreduce, true);
      problem.bytes = 3000;
      if (algorithms::why_invalid(place(node_of), problem, choice).empty()) visit(place(node_of), problem, choice);
    }
}

TEST(Reduction, EveryAllreduceKeepsOperandsThatAreNotSymmetricInTheSamePlaces) {
  int plans = 0, swapping = 0;
  for_each_allreduce([&](const Topology& topology, Problem problem, const plan::Choice& choice) {
    Plan symmetric = algorithms::build_plan(topology, problem, choice);
    expect_correct(symmetric);
    problem.is_symmetric = false;
    expect_correct(algorithms::build_plan(topology, problem, choice));
    symmetric.problem.is_symmetric = false;
    swapping += !verify(symmetric).empty();
    ++plans;
  });
  EXPECT_GT(plans, 15);
  EXPECT_GT(swapping, 5) << "exchanges are shorter where operands may change places";
}

/// Swaps two reductions of one rank that follow each other into the same place: other brackets, all operands there.
bool plant_other_brackets(Plan& plan) {
  for (int rank = 0; rank < plan.topology.ranks(); ++rank)
    for (int i = 0; i + 1 < static_cast<int>(steps_of(plan, rank).size()); ++i) {
      const Step first = step_at(plan, rank, i), second = step_at(plan, rank, i + 1);
      if (first.op() != Op::reduce || second.op() != Op::reduce || first.buffer() != second.buffer() ||
          first.offset() != second.offset() || first.bytes() != second.bytes())
        continue;
      std::swap(step_at(plan, rank, i), step_at(plan, rank, i + 1));
      return true;
    }
  return false;
}

TEST(Reduction, OtherBracketsOnOneRankAreFound) {
  int planted = 0;
  for_each_allreduce([&](const Topology& topology, const Problem& problem, const plan::Choice& choice) {
    if (choice.between != plan::Between::gather_reduce) return;  // elsewhere each part is folded by one rank only
    Plan plan = algorithms::build_plan(topology, problem, choice);
    if (!plant_other_brackets(plan)) return;
    ++planted;
    const auto found = verify(plan);
    ASSERT_FALSE(found.empty()) << plan::to_string(choice);
    EXPECT_EQ(found.front().kind, Kind::data);
  });
  EXPECT_GE(planted, 3);
}

TEST(Reduction, NobodyMayBeMissing) {
  const Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, [](int) { return std::vector{2, 1}; });
  expect_fault(plan, Kind::data, 2, end_of(plan, 2), 0, bytes);
}

TEST(Reduction, NobodyMayCountTwice) {
  const auto twice = [](int) { return std::vector{2, 1, 1, 0}; };
  const Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, twice);
  expect_fault(plan, Kind::data, 0, end_of(plan, 0), 0, bytes);
}

TEST(Reduction, AScanStopsAtItsRank) {
  const auto up_to_me = [](int me) {
    std::vector<int> order;
    for (int r = me; r >= 0; --r) order.push_back(r);
    return order;
  };
  expect_correct(fold_everywhere(reduction(Operation::scan, false), 3, up_to_me));
  const Plan plan = fold_everywhere(reduction(Operation::scan, false), 3, downwards);
  expect_fault(plan, Kind::data, 1, end_of(plan, 1), 0, bytes);
}

TEST(Reduction, DifferentElementsDoNotBelongTogether) {
  Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, downwards);
  const int at = find(plan, 1, Op::reduce);
  const Step step = step_at(plan, 1, at);
  step_at(plan, 1, at) = Step::reduce(step.neighbour(), Buffer::window, 0, Buffer::output, 16, 16);
  expect_fault(plan, Kind::data, 1, end_of(plan, 1), 16, bytes);
}

TEST(Reduction, NothingYetIsNoOperand) {
  Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, downwards);
  drop(plan, 0, find(plan, 0, Op::get));
  expect_fault(plan, Kind::undefined, 0, find(plan, 0, Op::reduce), 0, bytes);
}

TEST(Reduction, WholeElementsOnly) {
  Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, downwards);
  const int at = find(plan, 1, Op::reduce);
  step_at(plan, 1, at) = Step::reduce(LocalRank(1), Buffer::window, 0, Buffer::output, 0, 12);
  expect_fault(plan, Kind::bounds, 1, at);
}

TEST(Reduction, OperandsInWindowsAreAligned) {
  Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, downwards);
  const int at = find(plan, 1, Op::reduce);
  step_at(plan, 1, at) = Step::reduce(LocalRank(1), Buffer::window, 8, Buffer::output, 8, 8);
  expect_fault(plan, Kind::bounds, 1, at);
}

TEST(Reduction, OntoItselfIsAFault) {
  Plan plan = fold_everywhere(reduction(Operation::allreduce, true), 3, downwards);
  const int at = find(plan, 1, Op::reduce);
  step_at(plan, 1, at) = Step::reduce(LocalRank(1), Buffer::output, 8, Buffer::output, 16, 16);
  expect_fault(plan, Kind::overlap, 1, at);
}

TEST(Reduction, InPlaceTheInputIsGoneOnceTheOutputIsWritten) {
  // Copies the input out of the way too late: right when the buffers are apart.
  const Plan plan = write_plan({0, 0}, reduction(Operation::allreduce, true), [](Builder& builder) {
    const LocalRank other(1 - builder.local().value);
    builder.claim_window();
    builder.put(Buffer::input, 0, bytes, 0);
    builder.post(Flag::ready, 1);
    builder.await_neighbours(Flag::ready, 1);
    builder.get(other, 0, Buffer::output, 0, bytes);
    builder.reduce(Buffer::input, 0, Buffer::output, 0, bytes);
  });
  EXPECT_FALSE(verify(plan).empty());
}

}  // namespace
}  // namespace espalier::verify
