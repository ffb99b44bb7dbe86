#pragma once
// Reductions on one node in which every rank folds for itself and nobody hands on results: one synchronisation per
// piece.

#include "plan/builder.hpp"

namespace espalier::smp {

/// Called by every rank of a node that holds the whole communicator; emits the caller's part: `output` becomes
/// v(0) o … o v(last), the whole vector for an allreduce of few ranks or short vectors, prefixes for scan and exscan.
/// `last` may be -1: the caller wants nothing. The same bits on all ranks with the same `last`. Vectors go through
/// cells (Sender_put, Group_sync), pipelined, or are pulled into scratch: in place, an output overwrites what
/// neighbours read, and may be written only when all have taken their copies.
void reduce_apart(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, int last);

/// Reduce_scatter on such a node: every rank folds its own block (plan::Blocks), piece by piece, out of the cells of
/// its neighbours (Group_seg_put, Group_sync) or, under single copy, out of their inputs.
void reduce_blocks(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::smp
