#pragma once
// The leaders' arithmetic between nodes, and what all reductions over several nodes ask for.

#include <string>

#include "plan/builder.hpp"

namespace espalier::algorithms {

/// A leader's partial result, and a spare place of the same size for what arrives. Both are places of private buffers,
/// and the result is to stay in a third one, its home, if it is not there from the start.
class LeaderSum {
 public:
  struct Place {
    plan::Buffer buffer;
    Bytes offset;
  };

  LeaderSum(plan::Builder& builder, const plan::Problem& problem, Place sum, Place spare)
      : LeaderSum(builder, problem, sum, spare, sum) {}
  LeaderSum(plan::Builder& builder, const plan::Problem& problem, Place sum, Place spare, Place home)
      : builder_(builder), may_swap_(problem.may_swap()), home_(home), sum_(sum), spare_(spare) {}

  std::uint32_t send(Rank to, Bytes begin, Bytes bytes) {
    return builder_.send(to, sum_.buffer, sum_.offset + begin, bytes);
  }
  /// Receives another's partial result into the spare place, `begin` bytes in; add() it when the slot is finished.
  std::uint32_t recv_operand(Rank from, Bytes begin, Bytes bytes) {
    return builder_.recv(from, spare_.buffer, spare_.offset + begin, bytes);
  }
  /// Takes on the operand that has arrived. When it belongs on the right the two places change their roles, for the
  /// whole vector: from here on only [begin, begin + bytes) counts.
  void add(bool is_left, Bytes begin, Bytes bytes);
  /// The same for operands that may change places and were received at `from` of the spare place.
  void add_from(Bytes from, Bytes begin, Bytes bytes);

  /// Brings [begin, begin + bytes) home.
  void settle(Bytes begin, Bytes bytes);
  std::uint32_t recv_result(Rank from, Bytes begin, Bytes bytes) {
    return builder_.recv(from, home_.buffer, home_.offset + begin, bytes);
  }

 private:
  plan::Builder& builder_;
  bool may_swap_;
  Place home_;
  Place sum_;
  Place spare_;
};

/// Empty when cells hold whole elements in `parts` parts, and when operands that must stay in order are in order on
/// nodes, too; else the reason.
std::string why_no_reduction(const topology::Topology& topology, const plan::Problem& problem,
                             const plan::Choice& choice, int parts);

}  // namespace espalier::algorithms
