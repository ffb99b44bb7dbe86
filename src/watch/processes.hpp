#pragma once
// What the system says of a rank's process, and which processes are ranks of ours.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/arena.hpp"
#include "watch/sighting.hpp"

namespace espalier::watch {

enum class Life { running, asleep, in_kernel, stopped, dead };

/// Hosts number their own.
struct Process {
  std::string host;  ///< empty: this one
  int pid = 0;

  auto operator<=>(const Process&) const = default;
};
inline Process process_of(const Sighting& seen) { return {seen.host, seen.pid}; }

/// What /proc does not show is dead, or of another namespace of processes.
using Lives = std::map<Process, Life>;
Life probe_life(int pid);
/// Of ranks of this host.
Lives probe_lives(std::span<const Sighting> seen);

/// The arenas that a process, or one that it has started (as a launcher its ranks), has open; those of all processes
/// for pid 0. Each once. What may not be looked at is left
/// out. Throws Error where the process is not there.
std::vector<std::shared_ptr<const transports::Arena>> find_arenas(int pid);

}  // namespace espalier::watch
