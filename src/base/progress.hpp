#pragma once
// Who advances nonblocking collectives.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class ProgressMeans : std::uint8_t {
  automatic,  ///< calls, and a thread where each process has a core for it
  calls,      ///< the program's calls of MPI
  memory,     ///< a thread, in any case, which sends no messages unless the program lets threads do so
  thread,     ///< the same, and MPI is initialised so that it may send messages
};

/// "auto", "calls", "memory" or "thread". Throws Error.
ProgressMeans parse_progress_means(std::string_view text);

}  // namespace espalier
