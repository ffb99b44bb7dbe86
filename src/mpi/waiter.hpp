#pragma once
// Waiting inside an MPI program: keeps MPI's own messages moving meanwhile.

#include "execute/waiting.hpp"
#include "mpi/progress.hpp"

namespace espalier::mpi {

class MpiWaiter final : public execute::PatientWaiter {
 public:
  /// `progress` outlives the waiter, and so does `network`, which is null on one node.
  MpiWaiter(Waiting scheme, std::uint32_t spin, const Progress& progress, execute::Network* network)
      : PatientWaiter(scheme, spin), progress_(progress), network_(network) {}

 private:
  void poke() noexcept override {
    progress_.poke();
    if (network_ != nullptr) network_->progress();
  }

  const Progress& progress_;
  execute::Network* network_;
};

}  // namespace espalier::mpi
