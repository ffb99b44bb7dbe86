#pragma once
// Each rank's blocks to its neighbours on the node, and theirs to it: the node's all-to-all.

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Called by every rank of the node; emits the caller's part. Of all blocks of the problem those between ranks of this
/// node, each rank's own included, come to lie where they belong.
///
/// Everyone serves its right-hand neighbour first, then the next one, and is served from the left in the same order, so
/// that no memory is read by all at once. Through cells: Group_seg_put, Group_sync, Group_seg_get in one stage when all
/// that a rank has for the others fits one cell, else pairwise Sender_put, Pair_sync, Receiver_get, pipelined (table 1,
/// row 4); short blocks share a cell. Under single copy everyone pulls.
void swap_blocks(plan::Builder& builder, const plan::Choice& choice, const plan::PairBlocks& blocks);

}  // namespace espalier::smp
