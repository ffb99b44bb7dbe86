#pragma once
// Equal blocks of all ranks of a node to its leader: the node's half of a gather.

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Called by every rank of the node; emits the caller's part. Block of local rank i (its `input`, `block` bytes) comes
/// to lie at `offset + i * block` of the leader's buffer `into`. Through cells: Group_seg_put, Group_sync,
/// Receiver_get, pipelined. Under single copy every rank pushes its block itself, all at once.
void collect_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, Bytes block,
                    plan::Buffer into, Bytes offset);

}  // namespace espalier::smp
