#pragma once
// What can be told of each step without running anything: sizes, ranks, slots and ticks.

#include "plan/program.hpp"
#include "verify/violation.hpp"

namespace espalier::verify {

/// Bytes that a rank's program may use of one of its buffers.
Bytes size_of(const plan::Plan& plan, Rank rank, plan::Buffer buffer);

/// Adds what breaks the rules of plan/step.hpp. A plan that passes can be run symbolically: all it names exists.
void check_rules(const plan::Plan& plan, Report& report);

}  // namespace espalier::verify
