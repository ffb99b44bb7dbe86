#pragma once
// Waiting inside an MPI program: keeps MPI's own messages moving meanwhile.

#include <chrono>

#include "execute/waiting/waiting.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/run/progress/health.hpp"
#include "mpi/run/progress/one_sided.hpp"
#include "mpi/run/progress/progress.hpp"
#include "mpi/run/shown/watch.hpp"
#include "watch/sighting.hpp"

namespace espalier::mpi {

class MpiWaiter final : public execute::PatientWaiter {
 public:
  /// Waits in collectives on `comm`. `progress` and `watch` outlive the waiter, and so does `network`, which is null on
  /// one node.
  MpiWaiter(MPI_Comm comm, Waiting scheme, std::uint32_t spin, const Progress& progress, Watch& watch,
            execute::Network* network)
      : PatientWaiter(scheme, spin), comm_(comm), progress_(progress), watch_(watch), network_(network) {}

 private:
  void poke() noexcept override {
    progress_.poke();
    ProgressQueue::advance_pending();
    if (network_ != nullptr) network_->progress();
  }

  std::chrono::microseconds longest_sleep() const noexcept override {
    return OneSided::is_possible() ? sleep_beside_windows : PatientWaiter::longest_sleep();
  }

  // A wait as short as most are reads no clock; of longer ones, every 64th look does.
  bool has_hope(bool is_first) noexcept override {
    if (is_first) watch_.begin_long_wait();
    watch_.look();
    if (!is_watching_) return true;
    const std::chrono::nanoseconds now(watch::read_coarse_clock());
    if (!is_first && now - asked_at_ < patience) return true;
    asked_at_ = now;
    return is_first || find_failure(comm_) == MPI_SUCCESS;
  }

  void end_long() noexcept override { watch_.end_long_wait(); }

  static constexpr std::chrono::milliseconds sleep_beside_windows{1};
  /// Open MPI's launcher takes as long to tell of a death.
  static constexpr std::chrono::milliseconds patience{20};

  MPI_Comm comm_;
  const bool is_watching_ = outlives_failures();
  std::chrono::nanoseconds asked_at_{};
  const Progress& progress_;
  Watch& watch_;
  execute::Network* network_;
};

}  // namespace espalier::mpi
