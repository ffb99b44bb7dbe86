#pragma once
// The nonblocking and persistent calls of this process that have begun and are not over, in queues that whoever waits
// for something advances.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "mpi/native/native.hpp"
#include "mpi/nonblocking/reentrant_mutex.hpp"

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
  /// The same in a thread that must not call MPI: goes no further than that allows.
  virtual bool advance_aside(bool) noexcept { return false; }
  /// Whether it should not wait until the program is inside MPI again.
  virtual bool wants_help() const noexcept { return true; }
  /// Last of all: it is over, and out of the queue. Whoever has it may destroy it, and wait for other ranks: others go
  /// on meanwhile.
  virtual void leave() noexcept = 0;

 private:
  friend class ProgressQueue;
  Pending* next_ = nullptr;  ///< of those that are to leave
};

/// Calls that run in one order, which is the same on all ranks: those of a communicator, or of a persistent request.
struct Channel {
  MPI_Comm comm;
  const void* persistent = nullptr;  ///< null: the communicator's own calls

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// Thread safe. Ranks begin the calls of a channel in one order, so they run in that order, one at a time: a call
/// begins to run when the one before is over on this rank. Decisions are made in that order, too: what native gets, it
/// gets in the same order on all ranks.
class ProgressQueue {
 public:
  static ProgressQueue& get();

  /// Whether there is anything to advance. All that a program without nonblocking calls ever asks.
  static bool is_busy() noexcept { return busy_.load(std::memory_order_relaxed); }

  /// Advances what is pending, if anything is: for loops that wait for something else.
  static void advance_pending() noexcept {
    if (is_busy()) [[unlikely]]
      get().advance();
  }

  /// To be held from decide() to add().
  [[nodiscard]] std::unique_lock<ReentrantMutex> lock() { return std::unique_lock(mutex_); }
  /// Decides one of the communicator's own calls that begins now, if that can be done before its turn comes.
  bool decide(MPI_Comm comm, Pending& call) noexcept;
  /// Puts the call, which stays until it leaves, last; advances it as far as it gets where it is the only one, unless a
  /// thread is there to do that (ProgressThread).
  void add(const Channel& channel, Pending& call);

  /// Advances all, as far as they get without waiting; not where another thread is at it.
  void advance() noexcept;
  /// The same in a thread that must not call MPI. Those that are over stay until another advances.
  void advance_aside() noexcept;
  /// Lets go of those. Under the lock.
  void part() noexcept;
  /// Whether a call is pending that should not wait until the program is inside MPI again.
  static bool wants_help() noexcept { return wants_help_.load(); }
  /// How many such there have been.
  static std::uint32_t cries_for_help() noexcept { return cries_for_help_.load(std::memory_order_relaxed); }

  /// Does something when nothing is pending any more and nothing can be started, or now if that is so; never, where
  /// there is no memory to remember it.
  void when_idle(std::function<void()> work) noexcept;
  /// Does what waits for that, if it is so.
  void look_whether_idle() noexcept;

  /// Waits until the communicator's own calls are over, before one that blocks.
  void finish(MPI_Comm comm) noexcept;
  /// Until all on it are, before it is freed.
  void finish_channels(MPI_Comm comm) noexcept;
  /// The same of all, before MPI_Finalize. Gives up after a while: what others never began does not end.
  void finish_all() noexcept;

 private:
  struct Queue {
    Channel channel;
    std::vector<Pending*> calls = {};
    std::size_t decided = 0;  ///< the first ones
  };
  bool finds_help(const Pending& call) noexcept;
  enum class Step { over, on, stop };  ///< the call is over; goes on; and those behind it wait
  template <class TakeStep>
  void advance(const TakeStep& take_step) noexcept;
  template <class TakeStep>
  void advance(Queue& queue, const TakeStep& take_step) noexcept;
  static constexpr std::size_t most_idle = 8;
  Queue* find(const Channel& channel) noexcept;
  Queue& find_or_make(const Channel& channel);
  bool are_all_over() const noexcept;
  bool has(MPI_Comm comm, bool of_all_channels) noexcept;

  static inline std::atomic<bool> busy_ = false, wants_help_ = false;
  static inline std::atomic<std::uint32_t> cries_for_help_ = 0;
  ReentrantMutex mutex_;      ///< an error handler may come back in
  std::deque<Queue> queues_;  ///< with calls, and a few that had some: with their memory
  bool is_advancing_ = false;
  Pending* left_ = nullptr;                   ///< that are over
  std::vector<std::function<void()>> works_;  ///< for when_idle()
};

}  // namespace espalier::mpi
