#pragma once
// Who advances nonblocking collectives.

#include <cstdint>

namespace espalier {

enum class ProgressMeans : std::uint8_t {
  auto_,   ///< calls, and a thread where each process has a core for it
  calls,   ///< the program's calls of MPI
  memory,  ///< a thread, in any case, which sends no messages unless the program lets threads do so
  thread,  ///< the same, and MPI is initialised so that it may send messages
};

}  // namespace espalier
