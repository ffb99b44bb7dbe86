// A rank that never comes: those who wait for it give up where their waiter has no hope left, and nothing of what they
// broke off is taken for done.

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "execute/lines/tiny.hpp"
#include "execute/lines/uneven_blocks.hpp"
#include "execute/one_node.hpp"
#include "execute/run.hpp"
#include "plain_copy.hpp"
#include "plan/program.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;
using plan::Problem;

class Desperate final : public Waiter {
 public:
  bool pause(std::uint32_t, Bell*) noexcept override {
    ++pauses;
    return false;
  }
  int pauses = 0;

 private:
  bool has_hope(bool is_first) noexcept override { return is_first; }
};

constexpr int ranks = 3;

std::uint64_t done_flag(transports::ThreadWorld& world, int rank) {
  return world.seat(Rank(0)).board().flag(LocalRank(rank), plan::Flag::done).load();
}

TEST(GivenUp, AShortCallIsBrokenOffAndNotDone) {
  transports::ThreadWorld world(one_node(ranks), 4096);
  Desperate waiter;
  EXPECT_FALSE(run_tiny(world.seat(Rank(0)), Problem{}, nullptr, nullptr, nullptr, waiter));
  EXPECT_GE(waiter.pauses, 64);  // a wait as short as most are is not asked about
  EXPECT_EQ(done_flag(world, 0), 0u);
}

TEST(GivenUp, BlocksOfUnknownSizesAreBrokenOffAndNotDone) {
  transports::ThreadWorld world(one_node(ranks), 4096);
  Desperate waiter;
  std::array<std::byte, 8 * ranks> input{}, output{};
  std::array<Block, ranks> from, to;
  for (std::size_t r = 0; r < ranks; ++r) from[r] = {&input[8 * r], 8}, to[r] = {&output[8 * r], 8};
  const UnevenKind kind{Operation::alltoall, longest_in_lines(Operation::alltoall, ranks)};
  const auto outcome = run_uneven_blocks(world.seat(Rank(1)), kind, {LocalRank(0), from, to, {}}, nullptr, waiter);
  EXPECT_EQ(outcome, UnevenOutcome::broken);
  EXPECT_EQ(done_flag(world, 1), 0u);
}

TEST(GivenUp, AProgramIsBrokenOffAtItsWait) {
  transports::ThreadWorld world(one_node(ranks), 4096);
  plan::Program program;
  program.steps = {plan::Step::await(LocalRank(2), plan::Flag::ready, 1, 0), plan::Step::post(plan::Flag::done, 1)};
  Desperate waiter;
  world.seat(Rank(0)).begin_call();
  EXPECT_FALSE(execute::Run(program, {}, {&world.seat(Rank(0))}).finish(waiter));
  EXPECT_EQ(done_flag(world, 0), 0u);
}

// The root has told where its blocks are and returns an error, since another rank is gone: from then on that memory is
// its caller's again, and whoever comes late must not take what it holds for the block.
TEST(GivenUp, MemoryOfARankThatHasLeftIsNotTakenForItsBlock) {
  constexpr Bytes bytes = 64 << 10;
  transports::ThreadWorld world(one_node(ranks), 4096);
  Desperate waiter;
  testing::PlainCopy copy;
  std::vector<std::byte> input(bytes * ranks, std::byte{1}), output(bytes);
  std::array<Block, ranks> from;
  for (std::size_t r = 0; r < ranks; ++r) from[r] = {&input[bytes * r], bytes};
  const std::array<Block, 1> own{Block{input.data(), bytes}}, late{Block{output.data(), bytes}};
  const UnevenKind kind{Operation::scatter, any_size};
  const UnevenCall root{LocalRank(0), from, own, {}}, leaf{LocalRank(0), std::nullopt, late, {}};
  EXPECT_EQ(run_uneven_blocks(world.seat(Rank(0)), kind, root, &copy, waiter), UnevenOutcome::broken);
  world.seat(Rank(0)).leave();
  std::fill(input.begin(), input.end(), std::byte{2});
  EXPECT_EQ(run_uneven_blocks(world.seat(Rank(1)), kind, leaf, &copy, waiter), UnevenOutcome::broken);
}

}  // namespace
}  // namespace espalier::execute
