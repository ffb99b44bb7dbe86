// Waiting: no wake-up is lost, whatever ranks do meanwhile; who never sleeps is never woken.

#include "execute/waiting/waiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "algorithms/build.hpp"
#include "choice/choose.hpp"
#include "execute/lines/tiny.hpp"
#include "execute/one_node.hpp"
#include "execute/run.hpp"
#include "plan/graphs.hpp"
#include "reference.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;
using plan::Problem;
using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// Sleeps at every second pause, for so long that one lost wake-up shows.
class DeepSleeper final : public Waiter {
 public:
  bool pause(std::uint32_t attempt, Bell* bell) noexcept override {
    if (attempt == 0) announced_at_ = nullptr;
    if (bell == nullptr) std::this_thread::yield();
    if (bell == nullptr) return false;
    if (bell != announced_at_) {
      announced_at_ = bell;
      ticket_ = bell->announce();
      return false;
    }
    const auto begin = steady_clock::now();
    bell->sleep(ticket_, seconds(20));
    overslept_ = overslept_ || steady_clock::now() - begin > seconds(15);
    announced_at_ = nullptr;
    ++sleeps_;
    return true;
  }
  bool has_overslept() const { return overslept_; }
  int sleeps() const { return sleeps_; }

 private:
  Bell* announced_at_ = nullptr;
  Bell::Ticket ticket_ = 0;
  bool overslept_ = false;
  int sleeps_ = 0;
};

class CountingWaiter final : public PatientWaiter {
 public:
  using PatientWaiter::PatientWaiter;
  int pokes = 0;

 private:
  void poke() noexcept override { ++pokes; }
};

/// One of two ranks on a clock of their own. While they share a core a yield is the other's turn; the kernel parts them
/// when this one sleeps, or has kept the core for so long that the other is no longer thought to have just run.
class Sharing final : public PatientWaiter {
 public:
  enum class Kernel { parts_who_wakes, parts_who_stands, has_no_room };
  explicit Sharing(Kernel kernel, std::uint32_t spin = 2000) : PatientWaiter(Waiting::auto_, spin), kernel_(kernel) {}

  bool is_alone = false;
  int naps = 0, yields = 0;
  microseconds clock{0}, last_yield{0}, longest_stand{0};

  /// So many waits of which each takes the other's turn.
  void wait(int times) {
    for (; times > 0; --times) {
      const int before = yields;
      for (std::uint32_t attempt = 0; yields == before && attempt < 1'000'000 && !is_alone; ++attempt) {
        pause(attempt, nullptr);
        look_closer(attempt);
      }
    }
  }

 private:
  // 2000 looks are 40 us.
  void look_closer(std::uint32_t attempt) {
    if (attempt % 50 != 49) return;
    clock += microseconds(1);
    longest_stand = std::max(longest_stand, clock - last_yield);
    if (kernel_ == Kernel::parts_who_stands && clock - last_yield > microseconds(4000)) is_alone = true;
  }
  void yield() noexcept override {
    ++yields;
    clock += microseconds(is_alone ? 0 : 60);
    last_yield = clock;
  }
  void nap() noexcept override {
    ++naps;
    clock += microseconds(60);
    last_yield = clock;
    if (kernel_ == Kernel::parts_who_wakes) is_alone = true;
  }
  Company::Time now() const noexcept override { return clock; }

  const Kernel kernel_;
};

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

TEST(Bell, SleepEndsByItselfAfterItsTime) {
  Bell bell;
  const auto begin = steady_clock::now();
  bell.sleep(bell.announce(), microseconds(20'000));
  EXPECT_GE(seconds_since(begin), 0.015);
}

TEST(Bell, WhoWasRungForDoesNotFallAsleep) {
  Bell bell;
  const Bell::Ticket ticket = bell.announce();
  bell.ring();
  const auto begin = steady_clock::now();
  bell.sleep(ticket, seconds(20));
  EXPECT_LT(seconds_since(begin), 10);
}

TEST(Bell, AnAnnouncementAfterTheRingDoesNotMakeAnOldTicketGood) {
  Bell bell;
  const Bell::Ticket old = bell.announce();
  bell.ring();
  EXPECT_NE(bell.announce(), old);
}

TEST(Bell, RingingForNobodyChangesNothing) {
  Bell bell;
  bell.ring();
  const Bell::Ticket first = bell.announce();
  Bell untouched;
  EXPECT_EQ(first, untouched.announce());
}

// One owner counts up; sleepers wait for each number. A single lost wake-up takes 20 seconds.
TEST(Bell, LosesNoWakeUpHoweverSleepersAndOwnerMeet) {
  constexpr int sleepers = 3;
  constexpr std::uint64_t last = 20'000;
  Bell bell;
  std::atomic<std::uint64_t> flag{0};
  std::array<std::atomic<std::uint64_t>, sleepers> seen{};
  std::atomic<bool> overslept = false;
  std::vector<std::thread> threads;
  for (int s = 0; s < sleepers; ++s)
    threads.emplace_back([&, s] {
      for (std::uint64_t wanted = 1; wanted <= last; ++wanted) {
        while (flag.load(std::memory_order_acquire) < wanted) {
          const Bell::Ticket ticket = bell.announce();
          if (flag.load(std::memory_order_acquire) >= wanted) break;
          const auto begin = steady_clock::now();
          bell.sleep(ticket, seconds(20));
          if (seconds_since(begin) > 15) overslept = true;
        }
        seen[static_cast<std::size_t>(s)].store(wanted, std::memory_order_release);
      }
    });
  for (std::uint64_t number = 1; number <= last && !overslept; ++number) {
    flag.store(number, std::memory_order_release);
    bell.ring();
    // Lets the sleepers catch up now and then, so that they really sleep, and run ahead of them otherwise.
    while (number % 4 == 0 && seen[number % sleepers].load(std::memory_order_acquire) < number && !overslept)
      std::this_thread::yield();
  }
  flag.store(last, std::memory_order_release);
  bell.ring();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overslept);
}

// Short calls and programs in turn, on one board, by ranks that sleep whenever they can.
TEST(Sleeping, EveryOperationEndsWithoutOversleeping) {
  constexpr int ranks = 3;
  const topology::Topology topology = one_node(ranks);
  transports::ThreadWorld world(topology, topology.capabilities().window_bytes, Waiting::futex);
  std::atomic<int> sleeps = 0;
  transports::for_each_rank(ranks, [&](Rank me) {
    DeepSleeper waiter;
    for (int call = 0; call < 330; ++call) {
      Problem problem{static_cast<Operation>(call % plan::operation_count)};
      if (problem.operation != Operation::barrier) problem.bytes = call % 3 == 0 ? 64 : 40'000;
      problem.element = is_reduction(problem.operation) ? 2 : 1;
      if (has_root(problem.operation)) problem.root = Rank(call % ranks);
      if (has_edges(problem.operation)) problem = plan::with_ring(problem, topology, 3);
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, ranks, me, call, false);
      if (plan::is_tiny(problem, ranks)) {
        run_tiny(world.seat(me), problem, buffers.input(), buffers.output(), &reducer, waiter);
      } else {
        const plan::Program program =
            algorithms::build_program(topology, problem, choice::choose(topology, problem), me);
        std::vector<std::byte> scratch(program.scratch_bytes);
        world.seat(me).begin_call();
        execute::Run run(program, {buffers.input(), buffers.output(), scratch.data()},
                         {&world.seat(me), nullptr, nullptr, &reducer});
        ASSERT_TRUE(run.finish(waiter));
      }
      ASSERT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, call)) << name(problem.operation);
      ASSERT_FALSE(waiter.has_overslept()) << name(problem.operation) << ", call " << call;
    }
    sleeps += waiter.sleeps();
  });
  EXPECT_GT(sleeps, 100) << "or nothing was tested";
}

TEST(PatientWaiter, LooksAgainBetweenTheAnnouncementAndTheSleep) {
  Bell bell;
  CountingWaiter waiter(Waiting::futex, 0);
  const auto begin = steady_clock::now();
  waiter.pause(0, &bell);
  EXPECT_LT(seconds_since(begin), 1);
  EXPECT_EQ(bell.announce() & 1, 1u);
  bell.ring();  // the look after pause(0) would have seen this; pause(1) must not sleep through it
  waiter.pause(1, &bell);
  EXPECT_EQ(waiter.pokes, 1);
}

TEST(PatientWaiter, SleepsOnceYieldingHasNotHelped) {
  Bell bell, untouched;
  CountingWaiter waiter(Waiting::auto_, 0);
  waiter.pause(0, &bell);
  EXPECT_EQ(bell.announce(), untouched.announce()) << "it has yielded, and announced nothing";
  const auto begin = steady_clock::now();
  for (std::uint32_t attempt = 0; attempt < 150; ++attempt) waiter.pause(attempt, &bell);
  EXPECT_GT(seconds_since(begin), 1e-3) << "sleeps of 100 us and more";
}

TEST(PatientWaiter, SleepsTheLongerTheLongerItHasWaited) {
  Bell bell;
  CountingWaiter waiter(Waiting::futex, 0);
  const auto begin = steady_clock::now();
  int sleeps = 0;
  for (std::uint32_t attempt = 0; seconds_since(begin) < 0.4;) sleeps += waiter.pause(attempt++, &bell) ? 1 : 0;
  EXPECT_LT(sleeps, 100) << "400 would be of a millisecond each";
}

TEST(PatientWaiter, BeginsWithShortSleepsInEachWait) {
  Bell bell;
  CountingWaiter waiter(Waiting::auto_, 0);
  for (std::uint32_t attempt = 0; attempt < 300; ++attempt) waiter.pause(attempt, &bell);
  microseconds shortest{1'000'000};
  // As where a step waits for a message at first, for which nobody rings, and then for a neighbour.
  for (std::uint32_t attempt = 0; attempt < 110; ++attempt) {
    const auto begin = steady_clock::now();
    const bool has_slept = waiter.pause(attempt, attempt < 104 ? nullptr : &bell);
    const auto took = std::chrono::duration_cast<microseconds>(steady_clock::now() - begin);
    if (has_slept) shortest = std::min(shortest, took);
  }
  EXPECT_LT(shortest, microseconds(5000));
}

TEST(Waiter, AsksAllQuestionsAfterASleep) {
  struct Sleeper final : Waiter {
    bool pause(std::uint32_t attempt, Bell*) noexcept override { return attempt >= 70; }
    bool has_hope(bool is_first) noexcept override {
      questions += is_first ? "first " : "next ";
      return true;
    }
    std::string questions;
  } waiter;
  std::uint32_t attempt = 0;
  while (attempt < 70) EXPECT_TRUE(waiter.wait(attempt, nullptr));
  EXPECT_EQ(waiter.questions, "first ") << "after 64 looks";
  for (int sleeps = 0; sleeps < 3; ++sleeps) {
    EXPECT_TRUE(waiter.wait(attempt, nullptr));
    EXPECT_TRUE(Waiter::is_question_due(attempt));
  }
  EXPECT_EQ(waiter.questions, "first next next next ");
}

TEST(PatientWaiter, AnnouncesAgainForEachNewWaitAndEachNewBell) {
  Bell first, second, untouched;
  const Bell::Ticket fresh = untouched.announce();
  CountingWaiter waiter(Waiting::futex, 0);
  waiter.pause(0, &first);
  waiter.pause(1, &second);
  EXPECT_EQ(second.announce(), fresh);
  EXPECT_EQ(waiter.pokes, 2) << "two announcements, no sleep";
  waiter.pause(0, &second);
  EXPECT_EQ(waiter.pokes, 3) << "the wait is new: what was seen after the last announcement is not known";
}

TEST(PatientWaiter, PartsFromARankThatBeganOnItsCoreByANap) {
  Sharing rank(Sharing::Kernel::parts_who_wakes);
  rank.wait(100);
  EXPECT_TRUE(rank.is_alone);
  EXPECT_LT(rank.clock, microseconds(1000)) << "a few turns of a job that may last but milliseconds";
}

TEST(PatientWaiter, StandsWhereANapHasNotHelped) {
  Sharing rank(Sharing::Kernel::parts_who_stands);
  rank.wait(200);
  EXPECT_TRUE(rank.is_alone);
  EXPECT_LT(rank.clock, microseconds(20'000));
}

TEST(PatientWaiter, YieldsAllButAlwaysWhereNoCoreIsIdle) {
  Sharing rank(Sharing::Kernel::has_no_room);
  rank.wait(20'000);
  EXPECT_GT(rank.clock, microseconds(2'000'000));
  EXPECT_LT(rank.naps, 20) << "in two seconds";
  EXPECT_LT(rank.longest_stand, microseconds(6000));
  EXPECT_LT(rank.clock, microseconds(20'000 * 100 + 20 * 6000)) << "the turns, and a stand for every nap";
}

TEST(PatientWaiter, LeavesRanksThatShareCoresAlone) {
  Sharing rank(Sharing::Kernel::has_no_room, 0);
  for (std::uint32_t attempt = 0; attempt < 1000; ++attempt) rank.pause(attempt, nullptr);
  EXPECT_EQ(rank.yields, 1000);
  EXPECT_EQ(rank.naps, 0);
}

TEST(Company, OneLongYieldIsChance) {
  using std::chrono::milliseconds;
  Company company;
  EXPECT_EQ(company.note_yield(microseconds(50), milliseconds(1)), Company::Advice::none);
  EXPECT_EQ(company.note_yield(microseconds(1), milliseconds(2)), Company::Advice::none);
  EXPECT_EQ(company.note_yield(microseconds(50), milliseconds(20)), Company::Advice::none) << "too long ago";
  EXPECT_EQ(company.note_yield(microseconds(50), milliseconds(21)), Company::Advice::nap);
  EXPECT_EQ(company.note_yield(microseconds(50), milliseconds(21)), Company::Advice::none) << "not again at once";
  EXPECT_EQ(company.note_yield(microseconds(50), milliseconds(23)), Company::Advice::stand);
}

TEST(PatientWaiter, PokesWhateverTheScheme) {
  for (const Waiting scheme : {Waiting::auto_, Waiting::spin, Waiting::yield, Waiting::futex}) {
    Bell bell;
    CountingWaiter waiter(scheme, 10);
    for (std::uint32_t attempt = 0; attempt < 600; ++attempt) waiter.pause(attempt, attempt < 50 ? &bell : nullptr);
    EXPECT_GT(waiter.pokes, 1);
  }
}

TEST(Seat, RingsOnlyWhereRanksMaySleep) {
  for (const Waiting scheme : {Waiting::auto_, Waiting::spin, Waiting::yield, Waiting::futex}) {
    const bool rings = scheme == Waiting::futex || scheme == Waiting::auto_;
    transports::ThreadWorld world(one_node(2), 4096, scheme);
    Seat& seat = world.seat(Rank(0));
    EXPECT_EQ(seat.bell_of(LocalRank(1)) != nullptr, rings);
    Bell& mine = seat.board().bell(LocalRank(0));
    const Bell::Ticket before = mine.announce();
    seat.begin_call();
    seat.post(plan::Flag::ready, 1);
    EXPECT_EQ(mine.announce() != before, rings);
  }
}

}  // namespace
}  // namespace espalier::execute
