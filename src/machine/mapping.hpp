#pragma once
// Where ranks of a node would be bound: for machines one does not sit on, and for ranks that pretend to.

#include <cstdint>
#include <span>
#include <string_view>

#include "machine/node.hpp"

namespace espalier::machine {

enum class Mapping : std::uint8_t {
  packed,     ///< one rank per processor, in the order of NUMA nodes: the first NUMA node fills up first
  scattered,  ///< NUMA nodes in turn
  unbound,    ///< every rank may run everywhere
  half,       ///< packed onto the second half of the NUMA nodes: a job that has part of a node
};

/// All of them, in this order.
std::span<const std::string_view> mapping_names();
/// Throws Error naming the text and the mappings there are.
Mapping parse_mapping(std::string_view text);

/// What local rank `index` >= 0 is bound to; with more ranks than processors they share, round robin.
CpuSet derive_binding(const Node& node, Mapping mapping, int index);

}  // namespace espalier::machine
