#pragma once
// A thread of the library's own in a process that is somebody else's.

#include <pthread.h>

namespace espalier::mpi {

/// Signals are the program's, and never come to it. One that is never joined lives as long as the process.
class ServiceThread {
 public:
  /// False: the system has none, or it runs already. `name` has at most 15 letters.
  bool start(const char* name, void* (*work)(void*), void* argument) noexcept;
  bool is_running() const noexcept { return is_running_; }
  /// Waits for its end; nothing where it does not run.
  void join() noexcept;

 private:
  bool is_running_ = false;
  pthread_t thread_{};
};

}  // namespace espalier::mpi
