#pragma once
// What the ranks on one simulated host have in common besides shared memory: who sleeps until whose flag is raised, and
// who is in the kernel. SimGrid loads a copy of this library per rank, so it lives at the host, not in a variable.

#include <map>
#include <simgrid/s4u.hpp>
#include <vector>

#include "base/ids.hpp"
#include "execute/waiting/bell.hpp"

namespace espalier::mpi {

/// Simulated time in microseconds since the simulation began.
double simulated_now();
/// Lets it pass for the calling rank.
void let_time_pass(double microseconds);

/// Ranks are coroutines of one thread: nothing here happens at the same time.
class Neighbourhood {
 public:
  /// Of the calling rank's host; made by whoever comes first, and never destroyed.
  static Neighbourhood& here();

  /// Sleeps until somebody wakes those at this bell. Bells may be taken for each other: look again.
  void sleep_at(const execute::Bell& bell);
  /// To be called from anywhere, a timer included.
  void wake_at(const execute::Bell& bell);

  /// `me` spends `time` in the kernel, copying out of or into `other`'s memory; ranks that are there because of the
  /// same one hold each other up, each for `together`. Returns how long it takes.
  double enter_kernel(LocalRank me, LocalRank other, double time, double together);

 private:
  struct Visit {
    LocalRank to{-1};
    double until = 0;
  };

  std::map<std::uintptr_t, std::vector<simgrid::s4u::SemaphorePtr>> asleep_;
  std::map<int, Visit> visits_;  ///< by local rank
};

}  // namespace espalier::mpi
