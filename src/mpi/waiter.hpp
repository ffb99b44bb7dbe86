#pragma once
// Waiting inside an MPI program: look again soon, give the core away when others need it, keep MPI going meanwhile.

#include "execute/seams.hpp"
#include "mpi/native.hpp"

namespace espalier::mpi {

class MpiWaiter final : public execute::Waiter {
 public:
  /// `spin` looks before the first yield; 0 where ranks outnumber cores. `poke` is a communicator of this process alone
  /// that never carries a message, or the null communicator (then MPI's progress is left alone).
  MpiWaiter(std::uint32_t spin, MPI_Comm poke) : spin_(spin), poke_(poke) {}

  void pause(std::uint32_t attempt) noexcept override;

 private:
  /// Lets MPI do what others may be waiting for: a neighbour's message can depend on our progress while we wait for a flag.
  void poke() noexcept;

  std::uint32_t spin_;
  MPI_Comm poke_;
};

}  // namespace espalier::mpi
