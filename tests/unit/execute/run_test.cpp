// Runs: nothing in them waits. All ranks' runs are advanced by one thread, in any order, each rank with a queue of
// calls.

#include "execute/run.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "algorithms/build.hpp"
#include "choice/choose.hpp"
#include "plan/graphs.hpp"
#include "reference.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;
using plan::Problem;

constexpr int calls = 4 * plan::operation_count;

Problem problem_of(int call, const topology::Topology& topology) {
  Problem problem{static_cast<Operation>(call % plan::operation_count)};
  if (problem.operation != Operation::barrier) problem.bytes = call % 3 == 0 ? 64 : 40'000;
  problem.element = is_reduction(problem.operation) ? 2 : 1;
  if (has_root(problem.operation)) problem.root = Rank(call % topology.ranks());
  return has_edges(problem.operation) ? plan::with_ring(problem, topology, 3) : problem;
}

/// One rank with its calls, one after the other.
class Queue {
 public:
  Queue(transports::ThreadWorld& world, Rank me) : world_(world), me_(me) { begin(); }

  bool is_over() const { return call_ == calls; }
  int call() const { return call_; }
  void advance() {
    const std::optional<Ending> ending = run_->advance();
    if (!ending) return;
    EXPECT_EQ(ending->kind, Ending::done);
    EXPECT_TRUE(buffers_->result() == testing::expected_by(problem_, world_.topology().ranks(), me_, call_))
        << name(problem_.operation) << ", call " << call_;
    ++call_;
    if (!is_over()) begin();
  }

 private:
  void begin() {
    const int ranks = world_.topology().ranks();
    problem_ = problem_of(call_, world_.topology());
    program_ = algorithms::build_program(world_.topology(), problem_, choice::choose(world_.topology(), problem_), me_);
    buffers_.emplace(problem_, ranks, me_, call_, false);
    reducer_.emplace(problem_.is_commutative);
    scratch_.resize(program_.scratch_bytes);
    world_.seat(me_).begin_call();
    run_.emplace(program_, Buffers{buffers_->input(), buffers_->output(), scratch_.data()},
                 Environment{.seat = &world_.seat(me_), .reducer = &*reducer_, .stated = problem_.bytes});
  }

  transports::ThreadWorld& world_;
  Rank me_;
  int call_ = 0;
  Problem problem_;
  plan::Program program_;
  std::optional<testing::CallerBuffers> buffers_;
  std::optional<testing::ReferenceReducer> reducer_;
  std::vector<std::byte> scratch_;
  std::optional<Run> run_;
};

class Runs : public ::testing::TestWithParam<int> {};

TEST_P(Runs, OfAllRanksEndOnOneThreadInWhateverOrderTheyAreAdvanced) {
  const int ranks = GetParam();
  const auto topology = topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0),
                                                       {false, true, Bytes{64} << 10});
  for (unsigned seed = 0; seed < 6; ++seed) {
    transports::ThreadWorld world(topology, topology.capabilities().window_bytes);
    std::vector<std::unique_ptr<Queue>> queues;
    for (int r = 0; r < ranks; ++r) queues.push_back(std::make_unique<Queue>(world, Rank(r)));
    std::mt19937 random(seed);
    int looks = 0, over = 0;
    for (; over < ranks && looks < 1'000'000; ++looks) {
      Queue& queue = *queues[random() % static_cast<unsigned>(ranks)];
      if (queue.is_over()) continue;
      for (unsigned times = 1 + random() % 8; times > 0 && !queue.is_over(); --times) queue.advance();
      over += queue.is_over();
    }
    ASSERT_EQ(over, ranks) << "seed " << seed << ": somebody stands still";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Runs, ::testing::Values(2, 3, 5));

TEST(Run, StopsAtAnUnmetWaitAndEndsWhenThatIsMet) {
  const auto topology = topology::Topology::from_nodes(std::vector<int>{0, 0});
  transports::ThreadWorld world(topology, 4096);
  plan::Program program;
  program.steps = {plan::Step::await(LocalRank(1), plan::Flag::ready, 1), plan::Step::post(plan::Flag::done, 1)};
  world.seat(Rank(0)).begin_call();
  world.seat(Rank(1)).begin_call();
  execute::Run run(program, {}, {.seat = &world.seat(Rank(0))});
  EXPECT_EQ(run.advance(), std::nullopt);
  EXPECT_EQ(run.advance(), std::nullopt);
  world.seat(Rank(1)).post(plan::Flag::ready, 1);
  const std::optional<Ending> ending = run.advance();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->kind, Ending::done);
}

}  // namespace
}  // namespace espalier::execute
