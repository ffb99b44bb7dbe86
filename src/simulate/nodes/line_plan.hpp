#pragma once
// Short messages, which no program carries (execute/lines/tiny.hpp), as programs: each line is one tick of its writer's
// flag, and who awaits it has its bytes.

#include "plan/program.hpp"

namespace espalier::simulate {

/// For a play whose ticks are lines (simulate_node). Follows run_tiny() line by line; folding is one reduction at the
/// end, since a core folds what has come while other lines are on their way. One node, plan::is_tiny(problem).
plan::Plan build_line_plan(const topology::Topology& topology, const plan::Problem& problem);

}  // namespace espalier::simulate
