#pragma once
// Reductions on one node in which every rank folds for itself and nobody hands on results: one synchronisation per
// piece.

#include "plan/builder.hpp"

namespace espalier::smp {

/// Called by every rank of a node that holds the whole communicator; emits the caller's part. All vectors go through
/// cells, pipelined, and `output` becomes v(0) o … o v(last): the whole vector for an allreduce of few ranks or short
/// vectors, prefixes for scan and exscan. `last` may be -1: the caller wants nothing. The same bits on all ranks with
/// the same `last`. Cells only.
void reduce_apart(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, int last);

/// Reduce_scatter on such a node: every rank folds its own block (plan::Blocks), piece by piece, out of the cells of
/// its neighbours (Group_seg_put, Group_sync) or, under single copy, out of their inputs.
void reduce_blocks(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::smp
