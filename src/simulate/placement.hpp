#pragma once
// Which hosts of a network a job gets, and what it knows of them. Pure; the same on every machine.

#include <string_view>
#include <vector>

#include "simulate/network.hpp"

namespace espalier::simulate {

/// The host of each of `nodes` nodes, none twice:
///   "block"           the first hosts, in order
///   "racks:K"         the first K hosts of each rack in turn, then the next K: 1 deals nodes out like cards
///   "random:SEED"     hosts from all over the network, in any order
///   "scattered:SEED"  the same hosts by ascending number, as a scheduler hands out what is left on a busy machine
/// Throws Error when the network has fewer hosts, or for anything else.
std::vector<int> place_nodes(const Network& network, std::string_view how, int nodes);

/// Gives `host_of_node` back, or the first hosts when it is empty. Throws Error unless it names so many hosts of the
/// network, each once.
std::vector<int> check_hosts(const Network& network, std::vector<int> host_of_node, int nodes);

/// What is known of the network: "none"; "latency" or "speed" alone; "combined", both. The other half is as if all were
/// equally far apart or equally fast. Throws Error for anything else.
topology::Distances derive_distances(const Network& network, std::span<const int> host_of_node,
                                     std::string_view metric);

}  // namespace espalier::simulate
