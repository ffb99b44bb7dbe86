#pragma once
// Emits one rank's part of an allreduce. Choice and problem are valid together (registry.hpp).

#include <functional>
#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

void build_allreduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Who speaks for a node.
using LeaderOf = std::function<Rank(int node)>;

/// A stretch of `output`, and where the scratch begins that holds as much again.
struct LeaderStretch {
  Bytes offset;
  Bytes bytes;
  Bytes spare;
};

/// One leader's part of combining what all leaders have in a stretch of `output`; all end with the result. Of
/// `choice` count `between` (ring, recursive_doubling or rabenseifner) and the ring's order.
void combine_leaders(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice,
                     const LeaderOf& leader_of, const LeaderStretch& stretch);

/// What the algorithms ask for, as Algorithm::why_invalid.
std::string why_no_allreduce(const topology::Topology& topology, const plan::Problem& problem,
                             const plan::Choice& choice);

}  // namespace espalier::collectives
