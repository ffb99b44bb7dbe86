#pragma once
// One node's facts, as a value free of hwloc and of the system: processors, NUMA nodes, shared caches, NICs.

#include <cstdint>
#include <string>
#include <vector>

#include "machine/cpu_set.hpp"

namespace espalier::machine {

/// Memory with processors. Memory without any (a GPU's, a CXL expander's) and a second kind of memory of the same
/// processors (HBM) are left out: no rank is bound there.
struct NumaNode {
  int os_index = 0;
  CpuSet cpus;
};

enum class NicKind : std::uint8_t {
  ethernet,  ///< a network interface and nothing else
  fabric,    ///< verbs, HSN: InfiniBand, RoCE, Omni-Path, Slingshot
};

/// One network device: a PCI function, whatever names it has ("mlx5_0", "ib0"), or an interface without one.
struct Nic {
  std::vector<std::string> names;  ///< the fabric's name first; at least one
  NicKind kind = NicKind::ethernet;
  std::string bus;          ///< PCI address "0000:21:00.0"; empty without one
  CpuSet near;              ///< the processors it hangs off; empty when that is not known
  std::uint64_t mbits = 0;  ///< rate in Mbit/s (10^6); 0 when it is not known
  bool is_active = true;    ///< false only when the system says that its link is down
};

/// What ranks of one node need to know to elect leaders.
struct Node {
  std::string source;  ///< where this comes from, for people: "this machine", "opteron.xml"
  CpuSet cpus;         ///< all processors, allowed or not
  std::vector<CpuSet> packages;
  std::vector<NumaNode> numa_nodes;         ///< at least one
  std::vector<std::vector<int>> distances;  ///< NUMA node x NUMA node as firmware tells it: 10 is local
  std::vector<CpuSet> l3_groups;            ///< processors that share a last-level cache; may be empty
  std::vector<Nic> nics;                    ///< by PCI address, those without one last
};

/// Firmware's unit (ACPI's SLIT): local memory is at 10.
inline constexpr int local_distance = 10;
/// "Not known", and the largest distance that counts.
inline constexpr int unknown_distance = 255;

/// The NUMA node that holds all these processors; -1 when they are on several or on none.
int numa_of(const Node& node, const CpuSet& cpus);
/// The L3 group that holds all these processors; -1 likewise.
int l3_of(const Node& node, const CpuSet& cpus);

/// From processors on NUMA node `numa` to the NIC: the least distance to a NUMA node that the NIC hangs off.
/// unknown_distance when the NIC's place is not known.
int distance_to(const Node& node, int numa, const Nic& nic);

/// Brings what a reader found into the form stated above: sorts the NICs, forgets a place that says nothing (all
/// processors of a node with several NUMA nodes; with one NUMA node there is but one place), fills in distances that
/// are missing or make no sense (10 local, 12 in the package, 20 beyond), makes one NUMA node of all processors when
/// there is none. Throws Error when there are no processors at all.
Node derive_node(Node found);

}  // namespace espalier::machine
