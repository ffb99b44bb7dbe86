#pragma once
// One call of the program's, as observers see it.

#include "mpi/observe/observed_communicator.hpp"
#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

/// Times in nanoseconds, of the clock that ranks of a host share.
struct ObservedCall {
  ObservedCommunicator* communicator = nullptr;
  Subject subject{};
  plan::CallForm form = plan::CallForm::blocking;
  const void* site = nullptr;  ///< where the program goes on after it; null: not asked for
  std::uint64_t number = 0;    ///< of the communicator's blocking calls
  std::uint64_t gap = 0;       ///< since this rank's collective before ended
  std::uint64_t begin = 0;
  bool is_sample = false;
};

}  // namespace espalier::mpi
