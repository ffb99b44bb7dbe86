#pragma once
// The built-in choice, for machines without a tuned table.

#include <string>

#include "plan/program.hpp"

namespace espalier::collectives {

struct Decision {
  plan::Choice choice;
  /// Why, in a few words for `espalier explain`.
  const char* reason = "";
};

/// Pure function of agreed facts; equal on every rank. Valid (registry.hpp: why_invalid) unless the result is so large
/// that it does not fit the network underneath or the ticks of a call: more than 1G, or half a million cells.
Decision choose(const topology::Topology& topology, const plan::Problem& problem);

}  // namespace espalier::collectives
