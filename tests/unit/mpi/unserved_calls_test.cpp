#include "mpi/run/shown/unserved_calls.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "watch/sighting.hpp"

namespace espalier::mpi {
namespace {

using Doing = execute::LeftToMpi::Doing;

constexpr std::uint32_t job = 11;
/// The program's `number`-th.
plan::Call scan(std::uint64_t number = 1) {
  return {.operation = plan::Operation::scan, .bytes = 64, .number = number};
}

struct UnservedCallsTest : ::testing::Test {
  UnservedCallsTest() { calls.open({arena, job, getpid(), 2}); }

  execute::UnservedCall& begin(const Group& group, std::uint64_t number = 1) {
    return *calls.begin(group, Doing::call, scan(number));
  }
  std::vector<watch::Sighting> seen() const { return watch::find_ranks(*arena); }
  Group group_of(std::vector<int> members) const { return calls.make_group(members, 1); }

  std::shared_ptr<transports::Arena> arena = transports::Arena::create(1 << 20);
  UnservedCalls calls;
};

TEST(UnservedCalls, AreShownToNobodyBeforeThereIsAWorld) {
  UnservedCalls calls;
  EXPECT_EQ(calls.begin(calls.make_group(std::vector{0, 2}, 1), Doing::call, scan()), nullptr);
}

TEST_F(UnservedCallsTest, TakeNoMemoryBeforeTheFirst) {
  EXPECT_EQ(arena->in_use(), 0u);
  begin(group_of({0, 2}));
  EXPECT_EQ(arena->in_use(), 4096u);
}

TEST_F(UnservedCallsTest, SayWhoIsInWhat) {
  execute::UnservedCall& call = begin(group_of({0, 2, 4}), 7);
  ASSERT_EQ(seen().size(), 1u);
  const watch::Sighting now = seen().front();
  EXPECT_TRUE(now.is_in_mpi());
  EXPECT_EQ(now.left.operation, plan::Operation::scan);
  EXPECT_EQ(now.job, job);
  EXPECT_EQ(now.pid, getpid());
  EXPECT_EQ(now.world_rank, 2);
  EXPECT_EQ(now.rank, 1);
  EXPECT_EQ(now.ranks, 3);
  EXPECT_EQ(now.left_call(), scan(7));
  EXPECT_EQ(now.members, (std::vector<execute::RankSpan>{{0, 2, 3}}));
  calls.end(call);
  EXPECT_FALSE(seen().front().is_in_mpi());
  EXPECT_EQ(seen().front().left.calls, 1u) << "what has been is told on";
}

TEST_F(UnservedCallsTest, AreOfTheFirstDesksOfTheWorld) {
  const Group group = group_of({0, 2});
  calls.open({arena, job + 2, getpid(), 2});
  EXPECT_EQ(group_of({0, 2}).community, group.community);
  begin(group);
  EXPECT_EQ(seen().front().job, job);
}

TEST_F(UnservedCallsTest, AreCountedByGroup) {
  const Group first = group_of({0, 2}), second = group_of({0, 2, 3});
  EXPECT_NE(first.community, second.community);
  EXPECT_EQ(first.community, group_of({0, 2}).community);
  for (int i = 0; i < 3; ++i) calls.end(begin(first));
  begin(second);
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_EQ(seen()[0].left.calls, 3u);
  EXPECT_EQ(seen()[1].left.calls, 1u);
}

TEST_F(UnservedCallsTest, OneThatWasRefusedHasNotBeen) {
  const Group group = group_of({0, 2});
  calls.end(begin(group));
  calls.take_back(begin(group));
  EXPECT_EQ(seen().front().left.calls, 1u);
  begin(group);
  EXPECT_EQ(seen().front().left.calls, 2u);
}

TEST_F(UnservedCallsTest, AGroupThatIsNotRegularIsToldWithoutItsMembers) {
  std::vector<int> members;
  for (int i = 0; i < 40; ++i) members.push_back(i * i);
  begin(group_of(members));
  EXPECT_EQ(seen().front().ranks, 40);
  EXPECT_TRUE(seen().front().members.empty());
}

TEST_F(UnservedCallsTest, ThoseOfManyGroupsHaveTheLatestShown) {
  for (int other = 1; other < 100; ++other) calls.end(begin(group_of({0, other})));
  EXPECT_EQ(seen().size(), static_cast<std::size_t>(execute::UnservedPage::most_calls));
  calls.end(begin(group_of({0, 1})));
  const auto again = seen();
  EXPECT_TRUE(std::ranges::any_of(again, [](const watch::Sighting& it) { return it.left.calls == 2; }))
      << "a group's count does not go with its place";
}

TEST_F(UnservedCallsTest, ThreadsAreEachInTheirOwn) {
  const Group group = group_of({0, 2});
  std::vector<execute::UnservedCall*> open;
  for (int i = 0; i < execute::UnservedPage::most_calls; ++i) open.push_back(&begin(group));
  EXPECT_EQ(calls.begin(group, Doing::call, scan()), nullptr) << "more than that are not shown";
  for (execute::UnservedCall* call : open) calls.end(*call);
  EXPECT_EQ(execute::LeftToMpi::from_word(begin(group).left.load()).calls, 17u) << "and count all the same";
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const Group own = group_of({0, 3 + thread});
      for (int i = 0; i < 1000; ++i) calls.end(begin(own));
    });
  for (int i = 0; i < 1000; ++i)
    for (const watch::Sighting& it : seen()) {
      const int other = execute::world_rank_of(it.members, 1);
      ASSERT_EQ(it.community, group_of({0, other}).community) << "nothing is told of one group that is another's";
    }
  for (std::thread& it : threads) it.join();
}

}  // namespace
}  // namespace espalier::mpi
