#pragma once
// When a choice applies.

#include <string>

#include "plan/program.hpp"

namespace espalier::algorithms {

/// Empty when the choice applies; else the reason, for a person. A function of agreed facts only.
std::string why_invalid(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::algorithms
