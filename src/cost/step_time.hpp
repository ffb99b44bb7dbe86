#pragma once
// What a step costs its own rank. The play of a plan and a simulated job that executes it share these numbers, so that
// they differ only in what they do with them.

#include <span>

#include "cost/parameters.hpp"
#include "plan/step.hpp"

namespace espalier::cost {

/// Whether `rest.front()` brings the next step's operand to its place: then both are one loop of the interpreter
/// (execute/interpreter.cpp), and the first costs nothing by itself.
bool is_operand(std::span<const plan::Step> rest);

/// Microseconds that copying or combining keeps the rank `me` of a node busy at `rest.front()`, of what is left of its
/// program; 0 for steps that only wait, signal or speak to the network, and for operands. `is` counts with the sizes of
/// the rank's buffers (Parameters::met_by).
double copy_time(std::span<const plan::Step> rest, LocalRank me, const Parameters& is);

}  // namespace espalier::cost
