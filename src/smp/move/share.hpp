#pragma once
// What several ranks of a node have of one message, to everyone.

#include <span>

#include "plan/builder.hpp"
#include "smp/phases.hpp"

namespace espalier::smp {

/// Local rank r has `stretches[r]`, maybe nothing, of a message that all ranks of the node are to have in `output`,
/// where the stretch lies already: the others get it at the same place of theirs. Called by every rank of the node with
/// equal stretches; one phase. On a node of one rank, nothing.
void share_stretches(plan::Builder& builder, Phases& phases, std::span<const Range> stretches);

}  // namespace espalier::smp
