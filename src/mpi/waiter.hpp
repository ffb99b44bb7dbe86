#pragma once
// Waiting inside an MPI program: look again soon, give the core away when others need it, keep MPI going meanwhile.

#include "execute/seams.hpp"
#include "mpi/progress.hpp"

namespace espalier::mpi {

class MpiWaiter final : public execute::Waiter {
 public:
  /// `spin` looks before the first yield; 0 where ranks outnumber cores. `progress` outlives the waiter.
  MpiWaiter(std::uint32_t spin, const Progress& progress) : spin_(spin), progress_(progress) {}

  void pause(std::uint32_t attempt) noexcept override;

 private:
  std::uint32_t spin_;
  const Progress& progress_;
};

}  // namespace espalier::mpi
