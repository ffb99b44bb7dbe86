#pragma once
// Proves that a plan does what its operation promises, on every rank and in every schedule, or says what is wrong.
//
// All programs run symbolically. Proved: every byte of every output comes from the right place or combines the right
// operands in the right order, an allreduce by the same brackets on all ranks, with operands in the same places unless
// the operation is symmetric in bits (all also with MPI_IN_PLACE); no deadlock, even when every send is synchronous; no
// race, by happens-before and not by luck of one schedule; no step outside its buffer; no read of what was never
// written; nobody leaves a barrier too early. docs/ideas/verify.md tells how.

#include <span>
#include <vector>

#include "plan/program.hpp"
#include "verify/violation.hpp"

namespace espalier::verify {

/// Runs the plan window_banks + 1 times in a row, so that the reuse of window banks is proved too. Empty when correct.
/// Pure. Cost: about linear in the steps of all ranks, times the number of ranks for each that waits.
std::vector<Violation> verify(const plan::Plan& plan);

/// Consecutive calls on one communicator: windows and flags carry over. All plans must have the same topology, else
/// throws Error.
std::vector<Violation> verify_sequence(std::span<const plan::Plan> calls);

}  // namespace espalier::verify
