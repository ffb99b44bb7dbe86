#pragma once
// What other libraries do on a node, in shape: plans in our instruction set after their own documentation, to be played
// beside ours. Not their code, their tuning or their times; docs/nodes.md says what each is made of and where that is
// described.

#include <span>
#include <string_view>

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::simulate {

/// flat, tuned, xhc, acoll.
std::span<const std::string_view> peer_names();

/// Whether a peer has a way of its own to do an operation.
bool has_peer(std::string_view peer, plan::Operation operation);

/// All ranks sit on one node. Commutative reductions. The plan has no choice: it is nobody's algorithm. Throws Error
/// for what has_peer() denies.
plan::Plan build_peer(std::string_view peer, const topology::Topology& topology, const plan::Problem& problem);

/// What its steps cost a processor, where ours cost `is`: who maps neighbours' memory (XPMEM) copies out of it without
/// a call of the system, and who sends and receives looks for what fits.
cost::Parameters parameters_of_peer(std::string_view peer, const cost::Parameters& is);

}  // namespace espalier::simulate
