#pragma once
// This process's facts, with every way of not knowing them turned into "nothing is known" and one line that says why.

#include <string>

#include "machine/rank_facts.hpp"

namespace espalier::machine {

/// As settings give them. With `machine` the process pretends to sit in another one: elections then run for real on any
/// computer.
struct PlaceSettings {
  std::string nic;      ///< ESPALIER_NIC: device names with commas; empty: found out
  std::string machine;  ///< ESPALIER_MACHINE: as probe_node() takes it; empty: this machine
  std::string mapping;  ///< ESPALIER_MACHINE_MAPPING: how pretended machines are filled; empty: packed
  int index = 0;        ///< this process among those of its node, for the mapping
};

struct Place {
  RankFacts facts;
  /// What is in use and why, or why nothing is known: one clause for people, never empty.
  std::string remark;
  /// A setting that cannot be followed, and why; empty when all could.
  std::string complaint;
};

/// Reads the system and the environment. Never throws: no hwloc, a broken snapshot, hidden PCI or a wrong mapping leave
/// facts that say nothing. Well below a millisecond for this machine (bench/micro/election.cpp); callers keep the
/// result, because bindings are settled before the first collective and a rank that migrates afterwards is merely
/// farther than it said.
Place probe_place(const PlaceSettings& settings);

}  // namespace espalier::machine
