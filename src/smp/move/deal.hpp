#pragma once
// One rank's blocks to the ranks of its node, to each its own: the node's half of a scatter.

#include <functional>

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Called by every rank of the node; emits the caller's part. The block of each rank, where `blocks` says in the
/// writer's buffer `source`, comes to lie in that rank's `output`.
///
/// Through cells the blocks for others run one behind the other through the writer's cells, cut only where a cell ends:
///
///     blocks   | rank 1 | rank 2 | rank 3 | rank 4 |       Sender_put, Group_sync, Group_seg_get in one stage when
///     cells    |----------0----------|------1------|       they fit one cell, else Sender_put, Pair_sync,
///                                                          Receiver_get, pipelined (table 1, row 2)
///
/// A cell is written again when those who read it have taken it; nobody waits for anybody else. Under single copy the
/// readers pull their blocks while the writer copies its own.
/// When `source` is the window, the blocks lie in the writer's cells already: they came from the network.
///
/// `fetch(begin, end)`, if there is one, is called at the writer before it touches that stretch of `source`: what has
/// arrived is dealt while the rest is on its way. All ranks say alike whether there is one.
using Fetch = std::function<void(Bytes begin, Bytes end)>;
void deal_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, plan::Buffer source,
                 const NodeBlocks& blocks, const Fetch& fetch = {});

}  // namespace espalier::smp
