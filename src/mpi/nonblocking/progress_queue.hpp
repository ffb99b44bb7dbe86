#pragma once
// The nonblocking calls of this process that have begun and are not over: a queue for each communicator, advanced by
// whoever waits for something.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/boundary/native.hpp"

namespace espalier::mpi {

/// A call in its communicator's queue.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Decides what the call is, where that could not be known when it began; in the order of calls. False: not yet.
  /// `is_next`, here and below: all before it are over.
  virtual bool decide(bool is_next) noexcept = 0;
  /// After that. True: it is over. Neither waits.
  virtual bool advance(bool is_next) noexcept = 0;
};

/// Thread safe. Ranks begin the calls of a communicator in one order, so they run in that order, one at a time: a call
/// begins to run when the one before is over on this rank. Decisions are made in that order, too: what native gets, it
/// gets in the same order on all ranks.
class ProgressQueue {
 public:
  static ProgressQueue& get();

  /// Whether there is anything to advance. All that a program without nonblocking calls ever asks.
  static bool is_busy() noexcept { return busy_.load(std::memory_order_relaxed); }

  /// To be held from decide() to add().
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  /// Decides a call on `comm` that begins now, if that can be done before its turn comes.
  bool decide(MPI_Comm comm, Pending& call) noexcept;
  /// Puts the call last, and advances it as far as it gets.
  void add(MPI_Comm comm, std::unique_ptr<Pending> call);

  /// Advances all, as far as they get without waiting; not where another thread is at it.
  void advance() noexcept;

  /// Does something when nothing is pending any more, or now if nothing is; never, where there is no memory to remember
  /// it.
  void when_idle(std::function<void()> work) noexcept;

  /// Waits until all calls on `comm` are over, before one that blocks, or before it is freed.
  void finish(MPI_Comm comm) noexcept;
  /// The same of all, before MPI_Finalize. Gives up after a while: what others never began does not end.
  void finish_all() noexcept;

 private:
  struct Queue {
    MPI_Comm comm;
    std::vector<std::unique_ptr<Pending>> calls = {};
    std::size_t decided = 0;  ///< the first ones
  };
  static void advance(Queue& queue) noexcept;
  static constexpr std::size_t most_idle = 8;
  Queue* find(MPI_Comm comm) noexcept;
  Queue& find_or_make(MPI_Comm comm);
  bool is_idle() const noexcept;
  bool has(MPI_Comm comm) noexcept;

  static inline std::atomic<bool> busy_ = false;
  std::recursive_mutex mutex_;  ///< an error handler may come back in
  std::deque<Queue> queues_;    ///< of communicators with calls, and a few that had some: with their memory
  bool is_advancing_ = false;
  std::vector<std::function<void()>> works_;  ///< for when nothing is pending
};

}  // namespace espalier::mpi
