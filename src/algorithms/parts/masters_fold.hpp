#pragma once
// What the ranks of a node bring, folded by the masters of its groups, each for its own part: all groups at once.

#include <span>
#include <vector>

#include "algorithms/parts/masters.hpp"
#include "plan/builder.hpp"
#include "smp/phases.hpp"
#include "smp/reduce/fold.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

/// A group's part of everyone's `input`, and where its sum is to lie at the group's master.
struct GroupOperand {
  Bytes offset;
  smp::Range sum;  ///< as many bytes
};

/// Every cell has a slot for each group, side by side. In each piece every rank puts what it has for other ranks'
/// groups into their slots, and every master folds what lies in its groups' slots of all cells:
///
///     rank 0's cell   [ for group 0 | for group 1 ]      rank 0, master of group 0, folds the first column,
///     rank 1's cell   [ for group 0 | for group 1 ]      rank 1, master of group 1, the second
///
/// (a master does not put what it folds itself). Uses scratch_bytes() of scratch from 0 on. Builder, masters and
/// phases, made with slots_for(), must outlive it.
class MastersFold {
 public:
  MastersFold(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, const Masters& masters,
              smp::Phases& phases);

  /// The choice with cells that are whole slots; none when a cell is too small for a grain of every group.
  static plan::Choice slots_for(const plan::Problem& problem, plan::Choice choice);
  Bytes scratch_bytes() const { return smp::Fold::scratch_bytes(slot_); }
  /// What of a group's operand travels in one piece.
  Bytes slot() const { return slot_; }

  /// `operands[group]`, equal on all ranks of the node but for where sums lie; some may be empty. Operands stay in rank
  /// order.
  void run(std::span<const GroupOperand> operands);

 private:
  GroupOperand part(const GroupOperand& whole, Bytes piece) const;
  bool is_mine(int group) const { return masters_.of(builder_.node().value, group) == builder_.me(); }

  plan::Builder& builder_;
  const Masters& masters_;
  smp::Phases& phases_;
  Bytes slot_;
  smp::Fold fold_;
};

/// Empty when a cell has a slot for every group; else the reason.
std::string why_no_slots(const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::algorithms
