#pragma once
// How much memory may be asked for without harm. The system grants more than a job's limits allow and kills the job
// later, or sends a signal at once; so whoever asks looks here first.

#include <string>

#include "base/ids.hpp"

namespace espalier::transports {

/// No limit that anybody set.
inline constexpr Bytes unlimited = ~Bytes{0};

/// Up to where this process may extend a file: beyond, the system sends it SIGXFSZ (RLIMIT_FSIZE).
Bytes probe_longest_file() noexcept;

/// Address space that this process may still map (RLIMIT_AS, less what it has).
Bytes probe_address_room() noexcept;

/// Memory that this process's control groups, and the machine, still have for it, files that could be dropped counted
/// as free. Beyond it, a group's processes are killed. `root`: where the system's files are, for tests.
Bytes probe_memory_room(const std::string& root = "") noexcept;

}  // namespace espalier::transports
