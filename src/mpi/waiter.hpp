#pragma once
// Waiting inside an MPI program: look again soon, give the core away when others need it, keep MPI going meanwhile.

#include "execute/seams.hpp"
#include "mpi/progress.hpp"

namespace espalier::mpi {

class MpiWaiter final : public execute::Waiter {
 public:
  /// `spin` looks before the first yield; 0 where ranks outnumber cores. `progress` outlives the waiter, and so does
  /// `network`, which is null on one node.
  MpiWaiter(std::uint32_t spin, const Progress& progress, execute::Network* network)
      : spin_(spin), progress_(progress), network_(network) {}

  void pause(std::uint32_t attempt) noexcept override;

 private:
  void poke() noexcept {
    progress_.poke();
    if (network_ != nullptr) network_->progress();
  }

  std::uint32_t spin_;
  const Progress& progress_;
  execute::Network* network_;
};

}  // namespace espalier::mpi
