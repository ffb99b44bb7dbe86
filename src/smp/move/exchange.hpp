#pragma once
// Everyone's block to everyone on one node: the node's allgather.

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Called by every rank of a node that holds the whole communicator; emits the caller's part. Each rank's `input` comes
/// to lie where `blocks` says in every rank's `output`. Through cells: Group_seg_put, Group_sync, Group_get, pipelined.
/// Under single copy every rank pulls from all others, each starting at its right-hand neighbour so that no memory is
/// read by all at once.
void exchange_blocks(plan::Builder& builder, const plan::Choice& choice, const plan::Blocks& blocks);

}  // namespace espalier::smp
