#pragma once
// What one rank tells the others about its place on its node: small and fixed, sent as bytes.

#include <array>
#include <cstdint>
#include <type_traits>

#include "machine/nics.hpp"

namespace espalier::machine {

/// Where a process may run.
enum class Binding : std::uint8_t {
  unknown,  ///< the system or the machine's facts do not say
  unbound,  ///< on several NUMA nodes: it is near nothing in particular
  bound,    ///< on one NUMA node
};

/// Value-initialised: nothing is known. The bytes between equal facts are equal; no padding.
struct RankFacts {
  /// Names the NICs in use, in order: equal for ranks of one node, or they do not see the same node. 0 when `nics` is
  /// 0.
  std::uint32_t nics_key = 0;
  /// Rate of the fastest NIC in use, in Mbit/s; 0 when it is not known. Nodes of one job may differ.
  std::uint32_t mbits = 0;
  std::int16_t numa = -1;  ///< index into Node::numa_nodes; -1 unless bound
  std::int16_t l3 = -1;    ///< the first processor of its L3 group, which names it; -1 when on several
  std::uint8_t numa_nodes = 0;
  std::uint8_t nics = 0;  ///< NICs in use, at most most_nics
  Binding binding = Binding::unknown;
  std::uint8_t reserved = 0;
  /// To each NIC in use, in firmware's unit (node.hpp); unknown_distance where unknown and for unbound ranks.
  std::array<std::uint8_t, most_nics> distance = {255, 255, 255, 255, 255, 255, 255, 255};
  /// The system's number of the NUMA node nearest to each NIC in use, for memory that the NIC writes to; -1: unknown.
  std::array<std::int16_t, most_nics> nic_numa = {-1, -1, -1, -1, -1, -1, -1, -1};

  bool operator==(const RankFacts&) const = default;
};
static_assert(std::is_trivially_copyable_v<RankFacts> && std::has_unique_object_representations_v<RankFacts>);

/// The facts of a process that may run on `cpus` of this node. An empty `cpus` is an unknown binding.
RankFacts derive_rank_facts(const Node& node, const NicsInUse& use, const CpuSet& cpus);

}  // namespace espalier::machine
