// Engines that show some of their calls: each rank decides alone, and all the same.

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "execute/seams.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/shown/onlooker.hpp"
#include "transports/threads.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

/// Wants to see one of so many.
class Notebook final : public Onlooker {
 public:
  explicit Notebook(std::uint64_t stride) : stride_(stride) {}

  std::uint64_t look(const Problem&, std::uint64_t call, std::uint64_t weight) noexcept override {
    calls.push_back(call);
    seen += weight;
    return stride_;
  }
  void leave(bool) noexcept override { ++left; }
  void count(const Problem&, std::uint64_t more) noexcept override { passed += more; }
  void begin_wait(std::uint64_t call, std::uint64_t) noexcept override { begun.push_back(call); }
  void end_wait(const Problem& problem, std::uint64_t call, std::uint64_t since, std::uint64_t now) noexcept override {
    EXPECT_EQ(begun.back(), call);
    waits.push_back({problem.bytes, call, now - since});
  }

  struct Wait {
    Bytes bytes;
    std::uint64_t call, ns;
  };
  std::vector<std::uint64_t> calls, begun;
  std::vector<Wait> waits;
  std::uint64_t seen = 0, passed = 0, left = 0;

 private:
  std::uint64_t stride_;
};

/// Tells its engine of long waits.
class Telling final : public execute::Waiter {
 public:
  void follow(Engine& engine) { engine_ = &engine; }
  bool pause(std::uint32_t, execute::Bell*) noexcept override {
    sched_yield();
    return false;
  }

 private:
  bool has_hope(bool is_first) noexcept override {
    if (is_first) engine_->begin_long_wait();
    return true;
  }
  void end_long() noexcept override { engine_->end_long_wait(); }

  Engine* engine_ = nullptr;
};

class LooksTest : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  void make_engines(std::uint64_t stride, Learning learning = Learning::off) {
    policy.learning.means = learning;
    const execute::BoardShape shape{ranks, 64 << 10};
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, execute::Board::bytes(shape))));
    std::fill_n(memory.get(), execute::Board::bytes(shape), std::byte{0});
    for (int rank = 0; rank < ranks; ++rank) {
      Means means;
      means.topology = topology::Topology::from_nodes(std::vector<int>(ranks, 0), {false, true, shape.window_bytes});
      means.me = Rank(rank);
      means.board = execute::Board::furnished(memory.get(), shape);
      auto waiter = std::make_unique<Telling>();
      Telling& telling = *waiter;
      means.waiter = std::move(waiter);
      engines.push_back(std::make_unique<Engine>(std::move(means), policy, budget, statistics));
      telling.follow(*engines.back());
      notebooks.push_back(std::make_shared<Notebook>(stride));
      engines.back()->show_to(notebooks.back());
    }
  }

  /// `bytes(call)` each. Native's are natives' in name only.
  template <class BytesOf>
  void allgather(int calls, const BytesOf& bytes_of, bool overlooks = false) {
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      std::vector<std::byte> own(64), all(64 * ranks);
      for (int call = 0; call < calls; ++call) {
        const Problem problem{Operation::allgather, bytes_of(call)};
        if (overlooks) engine.overlook(problem);
        Entry& entry = engine.prepare(problem);
        const bool is_own = entry.kind != Entry::Kind::native && engine.supply(entry);
        if (is_own)
          EXPECT_TRUE(engine.run(entry, own.data(), all.data()));
        else
          engine.pass_on(entry);
        if (engine.is_timing()) engine.stop_timing(is_own);
      }
    });
  }

  void stop() {
    for (const auto& engine : engines) engine->stop_showing();
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory;
  Policy policy;
  CacheBudget budget{Bytes{1} << 20, 0};
  Statistics statistics;
  std::vector<std::shared_ptr<Notebook>> notebooks;
  std::vector<std::unique_ptr<Engine>> engines;
};

TEST_F(LooksTest, OneOfSoManyIsShownAndEachIsCountedOnce) {
  make_engines(10);
  allgather(1000, [](int) { return Bytes{8}; });
  EXPECT_EQ(notebooks[0]->calls.size(), 100u);
  EXPECT_EQ(notebooks[0]->left, 100u);
  EXPECT_EQ(notebooks[0]->passed, 0u);
  stop();
  EXPECT_EQ(notebooks[0]->seen + notebooks[0]->passed, 1000u);
}

TEST_F(LooksTest, SizesTakeTurnsOfTheirOwn) {
  make_engines(10);
  allgather(1000, [](int call) { return call % 4 == 0 ? Bytes{8} : Bytes{16}; });
  stop();
  EXPECT_EQ(notebooks[0]->calls.size(), 25u + 75u);
  EXPECT_EQ(notebooks[0]->seen + notebooks[0]->passed, 1000u);
}

TEST_F(LooksTest, AllRanksShowTheSameCalls) {
  make_engines(7);
  allgather(1000, [](int call) { return static_cast<Bytes>(call % 5); });
  for (const auto& it : notebooks) EXPECT_EQ(it->calls, notebooks[0]->calls);
}

TEST_F(LooksTest, ThoseOfCallsWithCountsAreOverlooked) {
  make_engines(10);
  allgather(
      300, [](int) { return Bytes{8}; }, true);
  stop();
  EXPECT_EQ(notebooks[0]->seen + notebooks[0]->passed, 0u);
  EXPECT_TRUE(notebooks[0]->calls.empty());
}

TEST_F(LooksTest, BetweenOthersTheyAreNotCountedEither) {
  make_engines(3);
  for (int round = 0; round < 50; ++round) {
    allgather(5, [](int) { return Bytes{8}; });
    allgather(
        4, [](int) { return Bytes{8}; }, true);
  }
  stop();
  EXPECT_EQ(notebooks[0]->seen + notebooks[0]->passed, 250u);
}

TEST_F(LooksTest, WhileSomethingIsLearnedAllAreShown) {
  make_engines(50, Learning::on);
  allgather(20'000, [](int) { return Bytes{32}; });
  for (const auto& it : notebooks) EXPECT_EQ(it->calls, notebooks[0]->calls);
  EXPECT_LT(notebooks[0]->calls.size(), 20'000u) << "what is settled is shown seldom";
  stop();
  EXPECT_LE(notebooks[0]->seen + notebooks[0]->passed, 20'000u);
}

TEST_F(LooksTest, WhatIsForgottenIsCountedAllTheSame) {
  make_engines(10);
  allgather(25, [](int) { return Bytes{8}; });
  for (const auto& engine : engines) engine->select(Operation::allgather, std::nullopt);
  EXPECT_EQ(notebooks[0]->seen + notebooks[0]->passed, 25u);
}

TEST_F(LooksTest, LongWaitsAreToldWhetherTheirCallsAreShownOrNot) {
  constexpr int late_call = 55;
  make_engines(10);
  for (const Bytes bytes : {Bytes{8}, Bytes{4096}}) {
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      std::vector<std::byte> own(bytes), all(bytes * ranks);
      for (int call = 0; call < 60; ++call) {
        if (call == late_call && me.value == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        Entry& entry = engine.prepare({Operation::allgather, bytes});
        EXPECT_TRUE(engine.supply(entry));
        EXPECT_TRUE(engine.run(entry, own.data(), all.data()));
        if (engine.is_timing()) engine.stop_timing(true);
      }
    });
    for (const int rank : {0, 1}) {
      const auto& waits = notebooks[static_cast<std::size_t>(rank)]->waits;
      const auto longest = std::ranges::max_element(waits, {}, &Notebook::Wait::ns);
      ASSERT_NE(longest, waits.end());
      EXPECT_EQ(longest->call % 60, late_call + 1u);
      EXPECT_EQ(longest->bytes, bytes);
      EXPECT_GT(longest->ns, 40'000'000u);
    }
    for (const auto& notebook : notebooks) notebook->waits.clear();
  }
}

TEST_F(LooksTest, NobodyIsToldWhoHasGone) {
  make_engines(10);
  stop();
  allgather(25, [](int) { return Bytes{8}; });
  EXPECT_TRUE(notebooks[0]->calls.empty());
  EXPECT_EQ(notebooks[0].use_count(), 1);
}

}  // namespace
}  // namespace espalier::mpi
