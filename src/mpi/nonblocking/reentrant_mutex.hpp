#pragma once
// A mutex for sections that are short and hardly ever wanted by two threads at a time: to take and to give it back is
// one atomic exchange and one store, a third of what std::recursive_mutex needs.

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "execute/waiting/waiting.hpp"

namespace espalier::mpi {

/// Whoever has it may take it again. Who waits for it yields its core.
class ReentrantMutex {
 public:
  bool try_lock() noexcept {
    const Thread me = this_thread();
    if (owner_.load(std::memory_order_relaxed) != me) {  // nobody else ever stores this thread
      Thread nobody = 0;
      if (!owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed))
        return false;
    }
    ++depth_;
    return true;
  }

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }

  void unlock() noexcept {
    if (--depth_ == 0) owner_.store(0, std::memory_order_release);
  }

 private:
  using Thread = std::uintptr_t;
  static Thread this_thread() noexcept { return (Thread)pthread_self(); }  // C style: a number or a pointer

  /// Another thread may be about to copy something, which is over before the system would have woken this one.
  [[gnu::noinline, gnu::cold]] void wait() noexcept {
    constexpr std::uint32_t looks_before_yields = 1000;  // some tens of microseconds
    execute::PatientWaiter waiter(Waiting::yield, looks_before_yields);
    for (std::uint32_t look = 0; !try_lock(); ++look) waiter.pause(look, nullptr);
  }

  std::atomic<Thread> owner_ = 0;
  std::uint32_t depth_ = 0;  ///< the owner's
};

}  // namespace espalier::mpi
