#pragma once
// The blocks of all ranks of a node to its leader: the node's half of a gather.

#include <functional>

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Called by every rank of the node; emits the caller's part. Each rank's `input` comes to lie where `blocks` says in
/// the leader's buffer `into`. Through cells: Group_seg_put, Group_sync, Receiver_get in one stage when every block
/// fits a cell, the same in a pipeline when not. Under single copy every rank pushes its block itself, all at once.
void collect_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, const NodeBlocks& blocks,
                    plan::Buffer into);

/// The same where blocks lie one behind the other, and come in that order: `collected(end)` is called at the leader
/// whenever all before `end` is there, so that it can go on while the rest still comes. All ranks call this one, or all
/// the other.
void collect_in_turn(plan::Builder& builder, const plan::Choice& choice, LocalRank leader, const NodeBlocks& blocks,
                     plan::Buffer into, const std::function<void(Bytes end)>& collected);

}  // namespace espalier::smp
