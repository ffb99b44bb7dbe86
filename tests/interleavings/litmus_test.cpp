// The explorer itself, held against small programs whose executions are known: what C++ allows comes up, each once, and
// nothing else does.

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "explorer/explorer.hpp"

namespace espalier::interleavings {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;

struct Shared {
  alignas(64) std::atomic<int> x, y;
  int data;
  int found[most_ranks];  ///< by rank
  std::mutex mutex;
};

using Body = std::function<void(Shared&, int& found)>;
using Outcomes = std::set<std::vector<int>>;

struct Litmus {
  Report report;
  Outcomes outcomes;  ///< what the ranks have found
};

Litmus run(const std::vector<Body>& bodies, Options options = {}) {
  options.looks_are_pure = false;
  Litmus litmus;
  Shared* shared = nullptr;
  Scenario scenario;
  scenario.ranks = static_cast<int>(bodies.size());
  scenario.prepare = [&](Arena& arena) {
    shared = new (arena.take(sizeof(Shared))) Shared{};
    arena.name(&shared->x, sizeof shared->x, "x");
    arena.name(&shared->y, sizeof shared->y, "y");
    arena.name(&shared->data, sizeof shared->data, "data");
  };
  scenario.run = [&](int rank) { bodies[static_cast<std::size_t>(rank)](*shared, shared->found[rank]); };
  scenario.finish = [&] { litmus.outcomes.insert({shared->found, shared->found + bodies.size()}); };
  litmus.report = explore(scenario, options);
  return litmus;
}

void expect(const Litmus& litmus, const Outcomes& outcomes, std::uint64_t executions) {
  EXPECT_FALSE(litmus.report.violation) << *litmus.report.violation;
  EXPECT_TRUE(litmus.report.is_complete);
  EXPECT_EQ(litmus.outcomes, outcomes);
  EXPECT_EQ(litmus.report.executions, executions);
  EXPECT_EQ(litmus.report.repeated, 0u) << "each comes up once";
}

Body message(std::memory_order order) {
  return [order](Shared& it, int&) {
    it.x.store(1, relaxed);
    it.y.store(1, order);
  };
}
/// 2 y + x
Body reader(std::memory_order order) {
  return [order](Shared& it, int& found) {
    found = 2 * it.y.load(order);
    found += it.x.load(relaxed);
  };
}

TEST(Explorer, FindsThatAMessageIsPassedByReleaseAndAcquireOnly) {
  expect(run({message(release), reader(acquire)}), {{0, 0}, {0, 1}, {0, 3}}, 3);
  expect(run({message(relaxed), reader(acquire)}), {{0, 0}, {0, 1}, {0, 2}, {0, 3}}, 4);
  expect(run({message(release), reader(relaxed)}), {{0, 0}, {0, 1}, {0, 2}, {0, 3}}, 4);
}

// Store buffering: what each has written need not be there for the other. On x86, too.
TEST(Explorer, FindsThatBothMayMissWhatTheOtherHasWritten) {
  const Body first = [](Shared& it, int& found) { it.x.store(1, release), found = it.y.load(acquire); };
  const Body second = [](Shared& it, int& found) { it.y.store(1, release), found = it.x.load(acquire); };
  expect(run({first, second}), {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, 4);
}

// Independent reads of independent writes: on no x86, but on POWER.
TEST(Explorer, FindsThatTwoReadersMaySeeTwoWritesInTwoOrders) {
  const Body x = [](Shared& it, int&) { it.x.store(1, release); };
  const Body y = [](Shared& it, int&) { it.y.store(1, release); };
  const Body reads_x = [](Shared& it, int& found) { found = 2 * it.x.load(acquire), found += it.y.load(acquire); };
  const Body reads_y = [](Shared& it, int& found) { found = 2 * it.y.load(acquire), found += it.x.load(acquire); };
  const Litmus litmus = run({x, y, reads_x, reads_y});
  EXPECT_TRUE(litmus.outcomes.contains({0, 0, 2, 2}));
  EXPECT_EQ(litmus.outcomes.size(), 16u);
  EXPECT_EQ(litmus.report.executions, 16u);
}

TEST(Explorer, KnowsNoValuesOutOfThinAirAndNoReadFromTheFuture) {
  const Body first = [](Shared& it, int& found) { found = it.x.load(relaxed), it.y.store(1, relaxed); };
  const Body second = [](Shared& it, int& found) { found = it.y.load(relaxed), it.x.store(1, relaxed); };
  expect(run({first, second}), {{0, 0}, {0, 1}, {1, 0}}, 3);
}

TEST(Explorer, KnowsThatOneLocationNeverGoesBack) {
  const Body writer = [](Shared& it, int&) { it.x.store(1, relaxed), it.x.store(2, relaxed); };
  const Body reader = [](Shared& it, int& found) { found = 10 * it.x.load(relaxed), found += it.x.load(relaxed); };
  expect(run({writer, reader}), {{0, 0}, {0, 1}, {0, 2}, {0, 11}, {0, 12}, {0, 22}}, 6);
}

// Whoever sees a write that was made after another one, by whomever, has to see that, too.
TEST(Explorer, CarriesWhatIsKnownAlongAChain) {
  const Body first = [](Shared& it, int&) { it.data = 1, it.x.store(1, release); };
  const Body second = [](Shared& it, int&) {
    if (it.x.load(acquire) == 1) it.y.store(1, release);
  };
  const Body third = [](Shared& it, int& found) {
    if (it.y.load(acquire) == 1) found = it.data + it.x.load(relaxed);
  };
  expect(run({first, second, third}), {{0, 0, 0}, {0, 0, 2}}, 3);
}

TEST(Explorer, PutsReadModifyWritesInAllOrders) {
  const Body adds = [](Shared& it, int& found) { found = it.x.fetch_add(1, relaxed); };
  const Litmus litmus = run({adds, adds, adds});
  EXPECT_EQ(litmus.outcomes.size(), 6u);
  EXPECT_EQ(litmus.report.executions, 6u);
}

TEST(Explorer, KnowsThatAReleaseSequenceGoesOnThroughReadModifyWrites) {
  const Body releases = [](Shared& it, int&) { it.data = 1, it.x.store(1, release); };
  const Body passes = [](Shared& it, int&) { it.x.fetch_add(1, relaxed); };
  const Body reads = [](Shared& it, int& found) {
    found = it.x.load(acquire);
    if (found == 2) found += it.data;
  };
  const Litmus litmus = run({releases, passes, reads});
  // A write of a rank that others' read-modify-writes may precede is in no certain order, and says so.
  ASSERT_TRUE(litmus.report.violation);
  EXPECT_NE(litmus.report.violation->find("writes x, and so does another rank, in no order"), std::string::npos);
  const Body counts = [](Shared& it, int&) { it.data = 1, it.x.fetch_add(2, release); };
  const Body reads_three = [](Shared& it, int& found) {
    found = it.x.load(acquire);
    if (found >= 2) found += 10 * it.data;
  };
  const Litmus counted = run({counts, passes, reads_three});
  EXPECT_FALSE(counted.report.violation) << *counted.report.violation;
  EXPECT_EQ(counted.outcomes, (Outcomes{{0, 0, 0}, {0, 0, 1}, {0, 0, 12}, {0, 0, 13}}));
}

TEST(Explorer, LetsOneExchangeSucceedAndFailuresReadOldValues) {
  const Body takes = [](Shared& it, int& found) {
    int expected = 0;
    found = it.x.compare_exchange_strong(expected, 1, acq_rel);
  };
  expect(run({takes, takes}), {{0, 1}, {1, 0}}, 2);
}

TEST(Explorer, FindsRacesWithWhatIsNotAtomic) {
  const Body writes = [](Shared& it, int&) { it.data = 1; };
  const Body reads = [](Shared& it, int& found) { found = it.data; };
  const Litmus race = run({writes, reads});
  ASSERT_TRUE(race.report.violation);
  EXPECT_NE(race.report.violation->find("reads data, in no order with rank 0"), std::string::npos)
      << *race.report.violation;
  EXPECT_TRUE(run({reads, writes}).report.violation);
  expect(run({reads, reads}), {{0, 0}}, 1);
}

TEST(Explorer, TakesAMutexForOrder) {
  const Body adds = [](Shared& it, int& found) {
    const std::lock_guard lock(it.mutex);
    found = it.data++;
  };
  expect(run({adds, adds, adds}), {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}, 6);
}

Body waits(std::memory_order order) {
  return [order](Shared& it, int& found) {
    while (it.x.load(order) == 0) sched_yield();
    found = it.data;
  };
}

TEST(Explorer, WaitsOnceForWhatIsWaitedForOften) {
  const Body raises = [](Shared& it, int&) { it.data = 1, it.x.store(1, release); };
  expect(run({raises, waits(acquire)}), {{0, 1}}, 1);
  expect(run({waits(acquire), raises, waits(acquire)}), {{1, 0, 1}}, 1);
  EXPECT_TRUE(run({raises, waits(relaxed)}).report.violation) << "the flag is seen, the data need not be";
}

TEST(Explorer, FindsThatNobodyGetsOn) {
  const Litmus litmus = run({waits(acquire), [](Shared&, int&) {}});
  ASSERT_TRUE(litmus.report.violation);
  EXPECT_NE(litmus.report.violation->find("nobody gets on: rank 0 waits"), std::string::npos);
  const Body mine = [](Shared& it, int&) {
    while (it.x.load(acquire) == 0) sched_yield();
    it.y.store(1, release);
  };
  const Body yours = [](Shared& it, int&) {
    while (it.y.load(acquire) == 0) sched_yield();
    it.x.store(1, release);
  };
  EXPECT_TRUE(run({mine, yours}).report.violation) << "each waits for the other";
}

TEST(Explorer, MissesAPlantedFaultNowhere) {
  const Body raises = [](Shared& it, int&) { it.data = 1, it.x.store(1, release); };
  const auto violation = [&](Fault fault) {
    Options options;
    options.faults = {fault};
    return run({raises, waits(acquire)}, options).report.violation;
  };
  EXPECT_TRUE(violation({Fault::relaxed_store, "x"}));
  EXPECT_TRUE(violation({Fault::relaxed_load, "x"}));
  EXPECT_TRUE(violation({Fault::lie, "x", 1}));
  EXPECT_FALSE(violation({Fault::relaxed_store, "y"}));
}

}  // namespace
}  // namespace espalier::interleavings
