#include "topology/recent_topologies.hpp"

namespace espalier::topology {

Topology RecentTopologies::share(const Topology& made) {
  const std::lock_guard lock(mutex_);
  for (const std::optional<Topology>& known : recent_) {
    if (!known) break;
    if (Topology shared = made.sharing(*known); shared.shares_with(*known)) return shared;
  }
  recent_[oldest_] = made;
  oldest_ = (oldest_ + 1) % recent_.size();
  return made;
}

}  // namespace espalier::topology
