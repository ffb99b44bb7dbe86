#pragma once
// A thread that advances pending collectives while the program computes, where there is a core for it
// (ESPALIER_PROGRESS).

#include <atomic>

#include "mpi/process/service_thread.hpp"

namespace espalier::mpi {

/// Made when a call is first queued, of which the program's own calls of MPI would not be enough. It moves data on
/// nodes and runs kernels of ours; where MPI has MPI_THREAD_MULTIPLE, it does whatever a call needs. It sleeps while
/// nothing is pending, and keeps out of the way of threads that wait inside MPI: they advance everything themselves.
class ProgressThread {
 public:
  /// Something is queued. True: it is awake. Under the queue's lock.
  static bool wake() noexcept;
  /// Before MPI_Finalize. It has ended then, and does not come again.
  static void stop() noexcept;

  /// As long as this lives, a thread of the program's is at it.
  class Away {
   public:
    Away() noexcept { waiting_.fetch_add(1, std::memory_order_relaxed); }
    ~Away() { waiting_.fetch_sub(1, std::memory_order_relaxed); }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;
  };

 private:
  ProgressThread();
  /// Null: there is to be none.
  static ProgressThread* get() noexcept;
  void rouse() noexcept;
  static void* run(void* self) noexcept;
  void work() noexcept;
  void advance() noexcept;
  void sleep() noexcept;

  static inline std::atomic<int> waiting_ = 0;
  static inline std::atomic<ProgressThread*> made_ = nullptr;  ///< for stop(), which makes none
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_asleep_ = false;
  std::atomic<bool> naps_ = false;
  bool may_call_mpi_ = false;
  ServiceThread thread_;
};

}  // namespace espalier::mpi
