// Windows that belong to processes and are lent to communicators (execute/windows): by one thread to many
// communicators, and by threads that take them from each other.

#include "execute/windows.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

#include "execute/run.hpp"
#include "expect.hpp"
#include "node.hpp"

namespace espalier::interleavings {
namespace {

using plan::Buffer, plan::Flag, plan::Step;

constexpr Bytes window_bytes = 4096, used_bytes = 64;

/// So many windows and no more.
class FewWindows final : public execute::WindowMemory {
 public:
  explicit FewWindows(int windows) : left_(windows) {}
  std::optional<Bytes> take() noexcept override {
    if (left_-- <= 0) return std::nullopt;
    return std::exchange(next_, next_ + window_bytes);
  }
  void give_back(Bytes) noexcept override {}

 private:
  int left_;
  Bytes next_ = 0;
};

/// Rank 0 of each communicator puts, rank 1 gets.
struct Programs {
  Programs() {
    puts.steps = {Step::await_all(Flag::done, 1, 2), Step::put(Buffer::input, 0, used_bytes, 0),
                  Step::post(Flag::ready, 1), Step::post(Flag::done, 1)};
    puts.window_bytes = window_bytes;
    gets.steps = {Step::await(LocalRank(0), Flag::ready, 1, 0),
                  Step::get(LocalRank(0), 0, Buffer::output, 0, used_bytes), Step::post(Flag::done, 1)};
  }
  plan::Program puts, gets;
};

/// Two communicators of two ranks, and the pool of the process that puts.
class Pair {
 public:
  explicit Pair(int windows) : windows_(windows), nodes_{Node(2, window_bytes), Node(2, window_bytes)} {}

  void prepare(Arena& arena) {
    std::byte* const origin = arena.take(static_cast<Bytes>(windows_) * window_bytes, window_bytes);
    arena.name(origin, static_cast<Bytes>(windows_) * window_bytes, "window");
    for (Node& node : nodes_) node.prepare(arena, origin);
    memory_ = new (arena.take(sizeof(FewWindows))) FewWindows(windows_);
    pool_ = new (arena.take(sizeof(execute::WindowPool))) execute::WindowPool(*memory_, windows_);
    arena.name(pool_, sizeof *pool_, "pool");
    pool_->reserve(windows_);
  }
  execute::Seat seat(int communicator, int rank) const {
    return nodes_[communicator].seat(rank, rank == 0 ? pool_ : nullptr);
  }
  void call(execute::Seat& seat, std::byte value) const {
    execute::PatientWaiter waiter(Waiting::yield, 0);
    const bool is_putting = seat.me() == LocalRank(0);
    std::vector<std::byte> data(used_bytes, is_putting ? value : std::byte{});
    seat.begin_call();
    execute::Run run(is_putting ? programs_.puts : programs_.gets, {data.data(), data.data(), nullptr},
                     {.seat = &seat});
    require(static_cast<bool>(run.finish(waiter)), "a call does not end well");
    require(data.front() == value && data.back() == value, "other bytes come");
  }

 private:
  int windows_;
  Node nodes_[2];
  Programs programs_;
  FewWindows* memory_ = nullptr;
  execute::WindowPool* pool_ = nullptr;
};

/// One thread in each process makes the calls, on one communicator or the other.
Report explore_calls(int windows, const std::vector<int>& communicators, const std::vector<Fault>& faults = {}) {
  Pair pair(windows);
  Scenario scenario;
  scenario.prepare = [&](Arena& arena) { pair.prepare(arena); };
  scenario.run = [&](int rank) {
    execute::Seat seats[] = {pair.seat(0, rank), pair.seat(1, rank)};
    int call = 0;
    for (const int communicator : communicators) pair.call(seats[communicator], static_cast<std::byte>(++call));
    for (execute::Seat& seat : seats)
      while (rank == 0 && !seat.leave_windows()) sched_yield();
  };
  return explore(scenario, {.faults = faults});
}

TEST(Windows, GoFromOneCommunicatorToAnotherWhenNobodyReadsThemAnyMore) {
  expect_right(explore_calls(1, {0, 1, 0}), "one window, 3 calls on two communicators");
  expect_right(explore_calls(2, {0, 1, 1, 0, 0}), "two windows, 5 calls on two communicators");
}

/// Each communicator has a thread of its own in either process: ranks 0 and 1 are its ends, 2 and 3 the other's.
Report explore_threads(int windows, int calls, const std::vector<Fault>& faults = {}) {
  Pair pair(windows);
  Scenario scenario;
  scenario.ranks = 4;
  scenario.prepare = [&](Arena& arena) { pair.prepare(arena); };
  scenario.run = [&](int thread) {
    execute::Seat seat = pair.seat(thread / 2, thread % 2);
    for (int call = 1; call <= calls; ++call) pair.call(seat, static_cast<std::byte>(16 * (thread / 2) + call));
  };
  return explore(scenario, {.waits_are_pure = false, .most_looks = 1, .faults = faults});
}

TEST(Windows, AreTakenFromEachOtherByThreads) {
  expect_right(explore_threads(1, 1), "one window, two threads, a call each");
}

TEST(PlantedFaults, InWindowsAreFound) {
  const std::vector<int> calls{0, 1, 0};
  expect_found(explore_calls(1, calls, {{Fault::relaxed_load, "flag done"}}), "a window taken without an acquire");
  expect_found(explore_calls(1, calls, {{Fault::lie, "flag done", ~0ull >> 1}}), "a window taken too early");
  expect_found(explore_calls(1, calls, {{Fault::relaxed_store, "flag ready"}, {Fault::relaxed_store, "statement"}}),
               "a window's place told without a release");
  // What is not named is what the pool has allocated: its windows.
  expect_found(explore_threads(1, 1, {{Fault::relaxed_store, "memory"}}), "a window given back without a release");
  expect_found(explore_threads(1, 1, {{Fault::relaxed_load, "memory"}}), "a window borrowed without an acquire");
}

}  // namespace
}  // namespace espalier::interleavings
