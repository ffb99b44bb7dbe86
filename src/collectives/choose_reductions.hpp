#pragma once
// The built-in choice for reductions.

#include "collectives/choose.hpp"

namespace espalier::collectives {

/// As choose(), for an operation with is_reduction().
Decision choose_reduction(const topology::Topology& topology, const plan::Problem& problem);

}  // namespace espalier::collectives
