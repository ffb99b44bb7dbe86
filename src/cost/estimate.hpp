#pragma once
// The time of a plan on a machine, from its steps alone: nothing runs.

#include <vector>

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::cost {

struct Estimate {
  /// From the common start to the last rank's end, in microseconds.
  double total = 0;
  /// When each rank ends.
  std::vector<double> ends;
};

/// Plays the plan through in order of time: a flag is seen one line's way after it was posted; messages of a node leave
/// and enter through one link each, one behind the other; on oversubscribed nodes steps share the cores. Contention in
/// memory, cache misses and the network between the links are not modelled, so estimates order choices rather than
/// predict times. The plan must be correct (verify). O(steps log ranks).
Estimate estimate_time(const plan::Plan& plan, const Parameters& parameters = {});

}  // namespace espalier::cost
