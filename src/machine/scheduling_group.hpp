#pragma once
// Among whom the kernel shares out a core first: the control group of a process, or its session's automatic group.

#include <string>

namespace espalier::machine {

/// A name for the group in which the kernel schedules this process; empty for the one that everybody else is in. A
/// process that yields gives the core to others of its own group: the group keeps its share of the core, and gets it
/// again before another group's turn. MPICH's hydra starts every rank in a session, and thus an automatic group, of its
/// own (sched(7), "The autogroup feature"); a batch system may give each a control group.
/// Reads /proc and /sys below `root`. Never fails: what cannot be read counts as absent.
std::string probe_scheduling_group(const std::string& root = "");

}  // namespace espalier::machine
