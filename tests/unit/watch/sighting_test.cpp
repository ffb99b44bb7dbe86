#include "watch/sighting.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "execute/board.hpp"
#include "execute/seat.hpp"
#include "watch/processes.hpp"

namespace espalier::watch {
namespace {

using execute::Board;
using execute::WatchLine;
using transports::Arena;

void sit_down(WatchLine& line, std::uint32_t community, int rank, int ranks) {
  line.community = community;
  line.pid = getpid();
  line.rank = rank;
  line.ranks = ranks;
  line.mark.store(WatchLine::written);
}

void wait_in(WatchLine& line, std::uint64_t call, plan::Operation operation) {
  line.operation.store(static_cast<std::uint8_t>(operation));
  line.since.store(to_milliseconds(read_coarse_clock()) - 2000);
  line.number.store(9);
  line.call.store(call);
}

struct Nodes {
  std::shared_ptr<Arena> arena = Arena::create(1 << 20);
  Board make(int ranks) { return {arena->at(*arena->allocate(Board::desk_bytes(ranks), ranks)), {ranks, 0}}; }
};

// Memory that is set aside there, and has not been asked of the system, must not be touched: SIGBUS.
TEST(Sighting, LooksAtNothingBehindTheEndOfTheFile) {
  const std::shared_ptr<Arena> arena = Arena::create(4 << 20);
  constexpr Bytes bytes = 17 * 4096;  // more pages are set aside
  const Bytes place = *arena->allocate(bytes, 1);
  EXPECT_TRUE(find_ranks(*arena).empty()) << "none of it is there";
  ASSERT_TRUE(arena->populate(place, bytes));
  EXPECT_TRUE(find_ranks(*arena).empty());
}

TEST(Sighting, FindsTheRanksOfAllBoardsOfAnArena) {
  Nodes nodes;
  const Board first = nodes.make(2), second = nodes.make(1);
  nodes.make(3);  // nobody has sat down there
  sit_down(first.watch(LocalRank(0)), 7, 0, 3);
  sit_down(first.watch(LocalRank(1)), 7, 1, 3);
  sit_down(second.watch(LocalRank(0)), 7, 2, 3);
  wait_in(first.watch(LocalRank(1)), 12, plan::Operation::allreduce);
  first.flag(LocalRank(0), plan::Flag::done).store(execute::stamp(12, 1));
  const auto seen = find_ranks(*nodes.arena);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].finished, 12u);
  EXPECT_FALSE(seen[0].waits());
  EXPECT_TRUE(seen[1].waits());
  EXPECT_EQ(seen[1].what.operation, plan::Operation::allreduce);
  EXPECT_NEAR(seen[1].seconds, 2, 0.1);
  EXPECT_EQ(seen[1].what.number, 9u);
  EXPECT_EQ(seen[2].rank, 2);
}

// What waits in a call that does not block has the same fields.
TEST(WatchLine, TellsWhatIsLeftToTheMpiUnlessAnotherCallWaits) {
  using Doing = execute::LeftToMpi::Doing;
  WatchLine line{};
  const auto told = [&] { return std::tuple(line.bytes.load(), line.root.load(), line.number.load()); };
  line.begin_left(Doing::call, {.operation = plan::Operation::broadcast, .root = 3, .bytes = 64, .number = 9});
  EXPECT_EQ(told(), std::tuple(64, 3, 9));
  line.call.store(5);
  line.form.store(static_cast<std::uint8_t>(plan::CallForm::nonblocking));
  line.begin_left(Doing::call, {.operation = plan::Operation::broadcast, .root = 2, .bytes = 32, .number = 10});
  EXPECT_EQ(told(), std::tuple(64, 3, 9));
  line.form.store(static_cast<std::uint8_t>(plan::CallForm::blocking));
  line.begin_left(Doing::call, {.operation = plan::Operation::broadcast, .root = 2, .bytes = 32, .number = 10});
  EXPECT_EQ(told(), std::tuple(32, 2, 10)) << "one that blocked is over, whatever it has left there";
  EXPECT_EQ(execute::LeftToMpi::from_word(line.left.load()).calls, 3u);
}

void write_page(execute::UnservedPage& page) {
  page.job = 11;
  page.pid = getpid();
  page.world_rank = 4;
  execute::UnservedCall& call = page.calls[3];
  call.community.store(30);
  call.rank.store(2);
  call.ranks.store(4);
  call.number.store(9);
  call.spans.store(2);
  for (const int span : {0, 1}) {
    call.members[span].first.store(span * 8);
    call.members[span].stride.store(2);
    call.members[span].count.store(span == 0 ? 3 : 1);
  }
  call.bytes.store(64);
  call.root.store(3);
  call.left.store(execute::LeftToMpi::begin(16, execute::LeftToMpi::Doing::call, {plan::Operation::reduce}));
  page.mark.store(execute::UnservedPage::written);
}

TEST(Sighting, FindsCallsOfCommunicatorsWithoutDesks) {
  Nodes nodes;
  const Board board = nodes.make(1);
  sit_down(board.watch(LocalRank(0)), 11, 0, 1);
  const auto place = nodes.arena->allocate(sizeof(execute::UnservedPage), 1);
  auto& page = *reinterpret_cast<execute::UnservedPage*>(nodes.arena->at(*place));
  write_page(page);
  const auto seen = find_ranks(*nodes.arena);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen[0].is_unserved());
  const Sighting& call = seen[1];
  EXPECT_TRUE(call.is_unserved() && call.is_in_mpi());
  EXPECT_EQ(call.left.calls, 17u);
  EXPECT_EQ(call.left_call(), (plan::Call{.operation = plan::Operation::reduce, .root = 3, .bytes = 64, .number = 9}));
  EXPECT_EQ((std::pair{call.world_rank, call.rank}), (std::pair{4, 2}));
  EXPECT_EQ(execute::world_rank_of(call.members, 2), 4);
  EXPECT_EQ(execute::world_rank_of(call.members, 3), 8);
  page.calls[3].ranks.store(5);
  EXPECT_TRUE(find_ranks(*nodes.arena).at(1).members.empty()) << "they are not those of its ranks";
}

TEST(RankSpans, AreFewOfWhatIsCutOutEvenly) {
  const auto spans = [](std::vector<int> ranks) { return execute::to_spans(ranks); };
  EXPECT_EQ(spans({3, 4, 5, 6}), (std::vector<execute::RankSpan>{{3, 1, 4}}));
  EXPECT_EQ(spans({1, 5, 9, 13}), (std::vector<execute::RankSpan>{{1, 4, 4}}));
  EXPECT_EQ(spans({3, 2, 1, 0}), (std::vector<execute::RankSpan>{{3, -1, 4}}));
  EXPECT_EQ(spans({0, 1, 4, 5}), (std::vector<execute::RankSpan>{{0, 1, 2}, {4, 1, 2}}));
  EXPECT_EQ(spans({7}), (std::vector<execute::RankSpan>{{7, 1, 1}}));
  const std::vector<execute::RankSpan> irregular = spans({5, 0, 9, 2});
  for (const auto& [rank, world_rank] : {std::pair{0, 5}, {1, 0}, {2, 9}, {3, 2}, {4, -1}})
    EXPECT_EQ(execute::world_rank_of(irregular, rank), world_rank);
}

// The clock was read before a rank has shown since when it waits, or has gone around since.
TEST(Sighting, NobodyHasWaitedSinceTheFuture) {
  Nodes nodes;
  const Board board = nodes.make(1);
  sit_down(board.watch(LocalRank(0)), 7, 0, 1);
  wait_in(board.watch(LocalRank(0)), 12, plan::Operation::allreduce);
  board.watch(LocalRank(0)).since.store(to_milliseconds(read_coarse_clock()) + 5000);
  EXPECT_EQ(find_ranks(*nodes.arena).at(0).seconds, 0);
}

TEST(Sighting, DoesNotFindWhatHasBeenGivenBack) {
  Nodes nodes;
  const Board board = nodes.make(1);
  sit_down(board.watch(LocalRank(0)), 7, 0, 1);
  ASSERT_EQ(find_ranks(*nodes.arena).size(), 1u);
  nodes.arena->release(nodes.arena->blocks().at(0).offset);
  EXPECT_TRUE(find_ranks(*nodes.arena).empty());
}

TEST(Sighting, TakesNoOtherMemoryForADesk) {
  Nodes nodes;
  const auto place = nodes.arena->allocate(3 << 14, 1);
  ASSERT_TRUE(place && nodes.arena->populate(*place, 3 << 14));
  std::memset(nodes.arena->at(*place), 0x53, 3 << 14);
  EXPECT_TRUE(find_ranks(*nodes.arena).empty());
}

TEST(Sighting, SeesFromOutsideWhatAProcessHas) {
  Nodes nodes;
  const Board board = nodes.make(1);
  sit_down(board.watch(LocalRank(0)), 7, 0, 1);
  bool found = false;
  for (const auto& arena : find_arenas(getpid()))
    found = found || (arena->name().id == nodes.arena->name().id && find_ranks(*arena).size() == 1);
  EXPECT_TRUE(found);
}

TEST(Sighting, SeesOfALauncherWhatThoseHaveThatItHasStarted) {
  Nodes nodes;
  const auto has_it = [&](int pid) {
    const auto found = find_arenas(pid);
    return std::any_of(found.begin(), found.end(),
                       [&](const auto& it) { return it->name().id == nodes.arena->name().id; });
  };
  EXPECT_TRUE(has_it(getppid()));
  const pid_t child = fork();
  if (child == 0) _exit(close_range(3, ~0U, 0) == 0 && has_it(getpid()) ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "a parent's are not its own";
}

TEST(Sighting, AProcessThatIsNotThereIsAnError) { EXPECT_THROW(find_arenas(1 << 30), Error); }

TEST(Sighting, KnowsTheLivingFromTheDead) {
  EXPECT_EQ(probe_life(getpid()), Life::running);
  EXPECT_EQ(probe_life(1 << 30), Life::dead);
}

TEST(Arena, IsNotObservedThroughOtherFiles) { EXPECT_THROW(Arena::observe("/proc/self/status"), Error); }

}  // namespace
}  // namespace espalier::watch
