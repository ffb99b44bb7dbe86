#include "algorithms/parts/masters_fold.hpp"

#include <algorithm>

#include "algorithms/words.hpp"
#include "base/bytes.hpp"

namespace espalier::algorithms {

namespace {

Bytes slot_of(const Problem& problem, const Choice& choice) {
  return smp::Grain(problem).round_down(choice.cell / static_cast<Bytes>(choice.groups));
}

}  // namespace

MastersFold::MastersFold(plan::Builder& builder, const Problem& problem, const Choice& choice, const Masters& masters,
                         smp::Phases& phases)
    : builder_(builder),
      masters_(masters),
      phases_(phases),
      slot_(slot_of(problem, choice)),
      fold_(builder, problem, smp::Fold::Source::cells, slot_, 0) {}

Choice MastersFold::slots_for(const Problem& problem, Choice choice) {
  choice.cell = slot_of(problem, choice) * static_cast<Bytes>(choice.groups);
  return choice;
}

void MastersFold::run(std::span<const GroupOperand> operands) {
  const std::vector<int> mine = masters_.groups_of(builder_.me());
  if (builder_.node_size() == 1) {
    for (const auto& [offset, sum] : operands) builder_.copy(Buffer::input, offset, sum.buffer, sum.offset, sum.bytes);
    return;
  }
  Bytes longest = 0;
  for (const GroupOperand& operand : operands) longest = std::max(longest, operand.sum.bytes);
  const Bytes pieces = (longest + slot_ - 1) / slot_, cell = slot_ * operands.size();
  phases_.run_together(
      pieces * cell,
      [&](Bytes begin, Bytes, auto put) {
        for (std::size_t group = 0; group < operands.size(); ++group) {
          const GroupOperand own = part(operands[group], begin / cell);
          if (own.sum.bytes > 0 && !is_mine(static_cast<int>(group)))
            put(smp::Range{Buffer::input, own.offset, own.sum.bytes}, group * slot_);
        }
      },
      [&](Bytes begin, auto await, Bytes window) {
        for (const int group : mine) {
          const GroupOperand own = part(operands[static_cast<std::size_t>(group)], begin / cell);
          if (own.sum.bytes == 0) continue;
          await();
          fold_.run(builder_.node_size() - 1, own.offset, window + static_cast<Bytes>(group) * slot_, own.sum);
        }
      });
}

/// What of a group's operand travels in its slot of a piece.
GroupOperand MastersFold::part(const GroupOperand& whole, Bytes piece) const {
  const Bytes done = piece * slot_, all = whole.sum.bytes;
  const Bytes bytes = done < all ? std::min(slot_, all - done) : 0;
  return {whole.offset + done, {whole.sum.buffer, whole.sum.offset + done, bytes}};
}

std::string why_no_slots(const Problem& problem, const Choice& choice) {
  if (slot_of(problem, choice) > 0) return "";
  return "a cell must hold " + format_bytes(smp::Grain(problem).bytes() * static_cast<Bytes>(choice.groups)) +
         " at least: whole, aligned elements of every group";
}

}  // namespace espalier::algorithms
