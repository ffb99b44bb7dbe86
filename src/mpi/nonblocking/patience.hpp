#pragma once
// How a rank waits for something of native's while calls of ours are pending.

#include "execute/waiting/waiting.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/nonblocking/progress_thread.hpp"

namespace espalier::mpi {

/// Whether this process has a core to itself, as far as is known.
bool has_core() noexcept;
/// After a look of the program's own, MPI_Test and its like: where it has no core to itself, it gives that to those
/// that it looks for.
void let_others_advance() noexcept;

/// Makes native progress: messages of the program's own may wait for this rank.
void poke_native() noexcept;

/// Spins, where there is a core for each, and then yields: who sleeps advances nothing.
class Patience {
 public:
  Patience();
  /// Between two looks.
  void pause() noexcept { waiter_.pause(attempt_++, nullptr); }

 private:
  class Waiter final : public execute::PatientWaiter {
    using PatientWaiter::PatientWaiter;
    void poke() noexcept override { poke_native(); }
  };
  Waiter waiter_;
  std::uint32_t attempt_ = 0;
};

/// Asks until there is an answer; whatever is pending goes on meanwhile.
template <class Ask>
auto wait_for(const Ask& ask) {
  const ProgressThread::Away away;
  Patience patience;
  auto answer = ask();
  for (; !answer; answer = ask()) {
    ProgressQueue::get().advance();
    patience.pause();
  }
  return *answer;
}

/// Waits until `is_done()`, and advances what is pending between two looks. False: nothing is pending any more, and
/// native may wait in its own way.
template <class IsDone>
bool wait_while_busy(const IsDone& is_done) {
  const ProgressThread::Away away;
  ProgressQueue& queue = ProgressQueue::get();
  Patience patience;
  while (ProgressQueue::is_busy()) {
    queue.advance();
    if (is_done()) return true;
    patience.pause();
  }
  return false;
}

}  // namespace espalier::mpi
