#pragma once
// What follows from all ranks' facts. Pure: every rank of a communicator derives the same from the same records.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/setup/facts.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

struct Agreement {
  /// Not empty: the communicator stays native for good, for this reason (for a person, with the remedy).
  std::string refusal;
  /// A label of each rank's node, for Topology::from_nodes.
  std::vector<int> node_of;
  /// On some host more ranks run than cores they may use.
  bool oversubscribed = false;
  /// topology::Capabilities::shared_cores.
  int shared_cores = 0;
  /// All ranks hold the same tuned table, so that it may decide.
  bool has_table = false;
  /// Some hold one, but not all the same.
  bool has_different_tables = false;
  /// Where each rank sits on its node, for Topology::from_nodes; empty when nobody knows.
  std::vector<machine::RankFacts> places;
  /// Quick where it is on all hosts.
  machine::Handover handover = machine::Handover::quick;
  /// All see what completes requests.
  bool may_start = false;
  /// The longest window that all of them have.
  Bytes window = 0;
};

/// `facts[r]` is what rank r told. `assume_host_buffers` is the setting; it is a collective one, so where the ranks
/// disagree about it the settings differ, and that is what is reported.
Agreement derive_agreement(std::span<const Facts> facts, bool assume_host_buffers);

/// Whether on some host there are more of these ranks than cores for them, or fewer cores than `each` for each.
bool is_oversubscribed(std::span<const Facts> facts, int each = 1);

/// How ranks wait: as set; with a core for each, the automatic scheme comes to yielding, which needs no bells.
Waiting derive_waiting(Waiting wanted, bool is_oversubscribed);

/// What neighbours copy with, straight between their memories.
struct SingleCopyMeans {
  bool cma = false;
  bool xpmem = false;

  bool any() const { return cma || xpmem; }
  bool operator==(const SingleCopyMeans&) const = default;
};

/// What all ranks use of what they wanted (a collective setting) and what every one of them found to work.
SingleCopyMeans derive_means(CopyMeans wanted, const SingleCopyMeans& works_everywhere);

/// "by CMA", "by XPMEM and CMA", "off": for reports.
std::string to_string(const SingleCopyMeans& means);

/// topology::Capabilities::turn, out of how many communicators each process has set up: grows with every one that the
/// process with most of them sets up.
int derive_turn(std::span<const std::int32_t> communicators);

/// How long a process's windows are: as set, but small enough that those of all `processes` of a node, two for each,
/// hold no more than `limit`; never less than one page.
Bytes derive_window(Bytes wanted, int processes, Bytes limit);

}  // namespace espalier::mpi
