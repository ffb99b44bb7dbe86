#include "execute/closeness.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace espalier::execute {
namespace {

using std::chrono::nanoseconds;

constexpr Bytes kilobyte = 1 << 10;

/// What a KB takes to write where its lines were left with the reader, and where the reader has taken them over.
struct Machine {
  nanoseconds left, taken;
};
constexpr Machine one_core{nanoseconds(21), nanoseconds(21)}, near{nanoseconds(110), nanoseconds(30)},
    far{nanoseconds(560), nanoseconds(120)}, fast_and_far{nanoseconds(28), nanoseconds(60)};

/// The ways of so many cells.
std::vector<Way> ways_of(Closeness& closeness, const Machine& machine, int cells, bool may_stream = true) {
  std::vector<Way> ways;
  for (int i = 0; i < cells; ++i) {
    const Way way = ways.emplace_back(closeness.next(may_stream));
    if (way.is_timed) closeness.learn(way, 16 * kilobyte, 16 * (way.is_taken ? machine.taken : machine.left));
  }
  return ways;
}

/// How cells go once everything was tried, outside of trials.
Way usual_way(Closeness& closeness, const Machine& machine, bool may_stream = true) {
  ways_of(closeness, machine, 10'000, may_stream);
  Way way;
  do way = closeness.next(may_stream);
  while (way.is_trial);
  return way;
}

TEST(ClosenessTest, IsNotBelievedBeforeItWasFound) { EXPECT_FALSE(Closeness().is_close()); }

TEST(ClosenessTest, IsTimePerByte) {
  for (const auto& [bytes, time, is_close] :
       {std::tuple(8, 80, true), std::tuple(8, 210, false), std::tuple(32, 320, true)}) {
    Closeness closeness;
    closeness.learn({}, bytes * kilobyte, nanoseconds(time));
    EXPECT_EQ(closeness.is_close(), is_close) << bytes << " KB in " << time << " ns";
  }
}

TEST(ClosenessTest, LeavesLinesWithTheirReaderWhereTheyAreTakenAwayFast) {
  for (const Machine& machine : {one_core, fast_and_far}) {
    Closeness closeness;
    const Way way = usual_way(closeness, machine);
    EXPECT_FALSE(way.is_taken || way.is_streamed || way.is_trial);
  }
}

TEST(ClosenessTest, HasNearLinesTakenOverByTheirReader) {
  Closeness closeness;
  const Way way = usual_way(closeness, near);
  EXPECT_TRUE(way.is_taken);
  EXPECT_FALSE(way.is_streamed);
}

TEST(ClosenessTest, SendsCellsToFarReadersThroughMemory) {
  Closeness closeness;
  const Way way = usual_way(closeness, far);
  EXPECT_TRUE(way.is_streamed);
  EXPECT_TRUE(way.is_taken) << "for sums, which are not streamed";
}

TEST(ClosenessTest, HasFarLinesTakenOverWhereMemoryIsForAll) {
  Closeness closeness;
  const Way way = usual_way(closeness, far, false);
  EXPECT_TRUE(way.is_taken);
  EXPECT_FALSE(way.is_streamed);
}

TEST(ClosenessTest, LeavesLinesThatHaveFallenOutOfTheCaches) {
  Closeness closeness;
  const Way way = usual_way(closeness, {nanoseconds(58), nanoseconds(55)}, false);
  EXPECT_FALSE(way.is_taken) << "nothing is gained";
}

TEST(ClosenessTest, BelievesTheFastestOfATrial) {
  Closeness closeness;
  closeness.learn({}, 8 * kilobyte, nanoseconds(80));
  closeness.learn({}, 8 * kilobyte, nanoseconds(90'000));  // somebody else had the processor
  EXPECT_TRUE(closeness.is_close());
}

TEST(ClosenessTest, FollowsProcessorsThatMove) {
  Closeness closeness;
  EXPECT_TRUE(usual_way(closeness, far).is_streamed);
  EXPECT_FALSE(usual_way(closeness, near).is_streamed);
  const Way way = usual_way(closeness, one_core);
  EXPECT_FALSE(way.is_taken || way.is_streamed);
  EXPECT_TRUE(usual_way(closeness, far).is_streamed);
}

TEST(ClosenessTest, FollowsSoon) {
  for (const auto& [from, to] :
       {std::pair(one_core, near), std::pair(one_core, far), std::pair(near, far), std::pair(far, near)}) {
    Closeness closeness;
    ways_of(closeness, from, 500);
    const Way way = ways_of(closeness, to, 150).back();
    EXPECT_TRUE(way.is_taken);
    EXPECT_EQ(way.is_streamed, to.left == far.left);
  }
}

TEST(ClosenessTest, TriesAtOnceAndThenSeldom) {
  Closeness closeness;
  EXPECT_TRUE(closeness.next(true).is_trial);
  int trials = 0;
  for (const Way& way : ways_of(closeness, far, 50'000)) trials += way.is_trial;
  EXPECT_GT(trials, 0);
  EXPECT_LT(trials, 50'000 / 10);
}

TEST(ClosenessTest, TimesTheEndOfATrialWhenLinesHaveComeBackThatWay) {
  Closeness closeness;
  Way before;
  int same = 0;
  for (const Way& way : ways_of(closeness, far, 50'000)) {
    same = way.is_taken == before.is_taken ? same + 1 : 1;
    if (way.is_timed) {
      EXPECT_GE(same, 33) << "two banks of sixteen cells, and the first one again";
    }
    before = way;
  }
}

}  // namespace
}  // namespace espalier::execute
