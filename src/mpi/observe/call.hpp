#pragma once
// One call of the program's, as observers see it.

#include <optional>

#include "mpi/observe/observed_communicator.hpp"
#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

/// What the program did before a call, since its collective before; that was timed and stood for `weight`. 0: it was
/// not, so that nothing is known.
struct Gap {
  std::uint64_t ns = 0;
  std::uint64_t weight = 0;
};

/// Times in nanoseconds, of the clock that ranks of a host share.
struct ObservedCall {
  ObservedCommunicator* communicator = nullptr;
  Subject subject{};
  std::optional<plan::Problem> problem;  ///< as its engine has put it; nothing: by the subject
  const void* site = nullptr;            ///< where the program goes on after it; null: not asked for
  Tally* tally = nullptr;                ///< of a blocking call: its kind's
  std::uint64_t number = 0;              ///< of the communicator's blocking calls that are timed
  std::uint64_t weight = 1;              ///< it stands for so many
  Gap gap{};
  std::uint64_t begin = 0;
  bool is_sample = false;
  double known_ns = 0,
         known_waiting_ns = 0;  ///< of its time, and of its waiting: long waits, which are summed up apart
};

}  // namespace espalier::mpi
