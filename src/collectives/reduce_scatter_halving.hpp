#pragma once
// Recursive halving: a reduce_scatter in log2 N rounds.

#include "plan/builder.hpp"
#include "plan/choice.hpp"

namespace espalier::collectives {

/// As build_reduce_scatter, by halving (Thakur, Rabenseifner, Gropp 2005, section 4.3). In round k = 0, 1, …
/// leaders whose numbers differ in bit k send each other what the other's half of the nodes will get, and combine: (N -
/// 1)/N of the vector, one message each way at a time. Operands stay in order. Where blocks differ, long ones are
/// combined on their way, and cross the receiver's link log2 N times instead of N - 1; bits then may count from the
/// highest, where that is shorter (part_order.hpp). Unless N is a power of two, the vector once more at first, and a
/// part in the end (groups/doubling.hpp).
void build_halving_scatter(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
