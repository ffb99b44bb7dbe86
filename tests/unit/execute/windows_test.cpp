#include "execute/windows.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "execute/one_node.hpp"
#include "execute/run.hpp"
#include "execute/waiting/waiting.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

constexpr Bytes window_bytes = 4096;

/// So many windows from `first` on.
class FewWindows final : public WindowMemory {
 public:
  explicit FewWindows(int windows, Bytes first = 0) : left_(windows), next_(first) {}
  std::optional<Bytes> take() noexcept override {
    if (left_-- <= 0) return std::nullopt;
    return std::exchange(next_, next_ + window_bytes);
  }
  void give_back(Bytes) noexcept override { ++given_back; }
  int given_back = 0;

 private:
  int left_;
  Bytes next_;
};

/// Communicators of two ranks, this one and a neighbour that raises its `done` when the test says so.
struct Pair {
  Memory memory = zeroed(Board::desk_bytes(2));
  Board board{memory.get(), {2, window_bytes}};
  void neighbour_leaves(std::uint64_t call) { board.flag(LocalRank(1), plan::Flag::done).store(stamp(call, 1)); }
};

TEST(WindowPool, GivesABankWhatItHadLast) {
  FewWindows memory(8);
  WindowPool pool(memory, 4);
  Pair pair;
  int first = 0, second = 0;
  Window* const mine = pool.borrow(&first, nullptr);
  Window* const other = pool.borrow(&second, nullptr);
  EXPECT_NE(mine, other);
  pool.give_back(*mine, {pair.board, LocalRank(0), 1});
  EXPECT_EQ(pool.borrow(&first, mine), mine) << "although the neighbour still reads: its program knows";
}

TEST(WindowPool, TakesNoWindowAwayThatNeighboursMayRead) {
  FewWindows memory(1);
  WindowPool pool(memory, 4);
  Pair pair;
  int first = 0, second = 0;
  Window* const window = pool.borrow(&first, nullptr);
  EXPECT_EQ(pool.borrow(&second, nullptr), nullptr) << "in use, and no memory for another";
  pool.give_back(*window, {pair.board, LocalRank(0), 3});
  pair.neighbour_leaves(2);
  EXPECT_EQ(pool.borrow(&second, nullptr), nullptr);
  pair.neighbour_leaves(3);
  EXPECT_EQ(pool.borrow(&second, nullptr), window);
  pool.give_back(*window, {pair.board, LocalRank(0), 1});
  pair.neighbour_leaves(4);
  EXPECT_EQ(pool.borrow(&first, window), window) << "as anybody's";
}

TEST(WindowPool, HasAsManyAsAreUsedAtATimeHoweverManyBanksThereAre) {
  FewWindows memory(100);
  WindowPool pool(memory, 4);
  Pair pair;
  pair.neighbour_leaves(1);
  std::array<int, 50> banks{};
  for (int round = 0; round < 3; ++round)
    for (int& bank : banks) pool.give_back(*pool.borrow(&bank, nullptr), {pair.board, LocalRank(0), 1});
  EXPECT_LE(pool.size(), 4);
  std::vector<Window*> open;
  for (int& bank : banks) open.push_back(pool.borrow(&bank, nullptr));
  EXPECT_EQ(pool.size(), 50) << "threads that all need one at a time each get one";
  for (const Window* window : open) EXPECT_NE(window, nullptr);
}

TEST(WindowPool, ABankThatGoesWaitsForItsReaders) {
  FewWindows memory(1);
  Pair pair;
  int bank = 0, next = 0;
  {
    WindowPool pool(memory, 4);
    Window* const window = pool.borrow(&bank, nullptr);
    pool.give_back(*window, {pair.board, LocalRank(0), 7});
    EXPECT_FALSE(pool.release(*window, &bank));
    pair.neighbour_leaves(7);
    EXPECT_TRUE(pool.release(*window, &bank));
    EXPECT_EQ(pool.borrow(&next, nullptr), window);
    pool.abandon(*window, &next);
    EXPECT_EQ(pool.borrow(&bank, nullptr), nullptr) << "its readers died: nobody gets it";
  }
  EXPECT_EQ(memory.given_back, 1);
}

TEST(WindowPool, WhatANeighbourThatLeftMayReadIsLostAndKeepsNobodyWaiting) {
  FewWindows memory(3);
  WindowPool pool(memory, 1);
  Pair pair;
  int bank = 0, next = 0, last = 0;
  Window* const window = pool.borrow(&bank, nullptr);
  pool.give_back(*window, {pair.board, LocalRank(0), 7});
  EXPECT_EQ(pool.borrow(&next, nullptr), nullptr) << "the neighbour is in call 7 still";
  pair.board.notice(LocalRank(1)).has_left.store(true);
  Window* const another = pool.borrow(&next, nullptr);
  ASSERT_NE(another, nullptr);
  EXPECT_NE(another, window);
  EXPECT_TRUE(pool.release(*window, &bank)) << "or whoever frees the communicator would wait for ever";
  EXPECT_NE(pool.borrow(&last, nullptr), window);
}

TEST(WindowPool, ReservesBeforeAnybodyNeedsThem) {
  FewWindows memory(3);
  WindowPool pool(memory, 4);
  EXPECT_TRUE(pool.reserve(2));
  EXPECT_TRUE(pool.reserve(2));
  EXPECT_EQ(pool.size(), 2);
  EXPECT_FALSE(pool.reserve(4));
}

/// Two ranks with many communicators and few windows: rank 0 puts, rank 1 reads when it likes.
TEST(WindowPool, CommunicatorsShareWindowsWithoutMixingTheirData) {
  constexpr int communicators = 7, calls = 300;
  const Memory windows = zeroed(16 * window_bytes);
  std::vector<Memory> desks;
  for (int c = 0; c < communicators; ++c) desks.push_back(zeroed(Board::desk_bytes(2)));
  using plan::Buffer, plan::Flag, plan::Step;
  plan::Program puts, gets;
  puts.steps = {Step::await_all(Flag::done, 1, 2), Step::put(Buffer::input, 0, window_bytes, 0),
                Step::post(Flag::ready, 1), Step::post(Flag::done, 1)};
  puts.window_bytes = window_bytes;
  gets.steps = {Step::await(LocalRank(0), Flag::ready, 1, 0),
                Step::get(LocalRank(0), 0, Buffer::output, 0, window_bytes), Step::post(Flag::done, 1)};
  transports::for_each_rank(2, [&](Rank me) {
    FewWindows memory(3, me.value * 8 * window_bytes);
    WindowPool pool(memory, 3);
    std::vector<std::unique_ptr<Seat>> seats;
    for (int c = 0; c < communicators; ++c)
      seats.push_back(
          std::make_unique<Seat>(Board(desks[static_cast<std::size_t>(c)].get(), {2, window_bytes}, windows.get()),
                                 LocalRank(me.value), false, &pool));
    PatientWaiter waiter(Waiting::yield, 0);
    std::vector<std::byte> data(window_bytes);
    for (int call = 0; call < calls; ++call) {
      const int which = (call * call + call / 7) % communicators;
      Seat& seat = *seats[static_cast<std::size_t>(which)];
      if (me == Rank(0)) std::memset(data.data(), call % 251, data.size());
      seat.begin_call();
      execute::Run run(me == Rank(0) ? puts : gets, {data.data(), data.data(), nullptr}, {&seat});
      ASSERT_TRUE(run.finish(waiter));
      for (const std::byte byte : data) ASSERT_EQ(byte, std::byte(call % 251)) << "call " << call;
    }
    for (const auto& seat : seats)
      while (!seat->leave_windows()) sched_yield();
    EXPECT_LE(pool.size(), 3);
  });
}

}  // namespace
}  // namespace espalier::execute
