#pragma once
// Every algorithm there is.

#include <span>
#include <string>
#include <string_view>

#include "algorithms/algorithm.hpp"

namespace espalier::algorithms {

/// Operation by operation, each one's in their order (Algorithm::place). Lives as long as the program.
std::span<const Algorithm> algorithms();

/// Its knobs with their values: "radix=2..64 exchange=ring|bruck".
std::string describe_knobs(const Algorithm& algorithm);

/// The algorithm of a choice. Throws Error when the operation has no such exchange between nodes.
const Algorithm& find_algorithm(plan::Operation operation, const plan::Between& between);
/// The same by what a person calls it: "chain" or "broadcast_chain". The error names those that there are.
const Algorithm& find_algorithm(plan::Operation operation, std::string_view text);

}  // namespace espalier::algorithms
