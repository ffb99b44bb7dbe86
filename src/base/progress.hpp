#pragma once
// Who advances nonblocking collectives.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class ProgressMeans : std::uint8_t {
  automatic,  ///< calls, and a thread where each process has a core for it
  calls,      ///< the program's calls of MPI
  thread,     ///< a thread, in any case, and MPI is initialised so that it may send messages
};

/// "auto", "calls" or "thread". Throws Error.
ProgressMeans parse_progress_means(std::string_view text);

}  // namespace espalier
