#pragma once
// One master's messages in one group of an allgather, and what becomes of the groups' data on the node.

#include <deque>
#include <span>

#include "algorithms/allgather/group_data.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "smp/phases.hpp"

namespace espalier::algorithms {

/// How the masters of a group exchange, round by round; the rounds of a direct exchange may all be under way at once.
std::vector<groups::Round> derive_rounds(plan::Exchange exchange, int node, int nodes);

/// Stretches of the group's data, cut into segments of `bytes` each; 0 leaves them whole.
class Segments {
 public:
  Segments(const GroupStretch& whole, Bytes bytes) : whole_(whole), unit_(bytes == 0 ? whole.bytes : bytes) {}

  int count() const { return whole_.bytes == 0 ? 0 : static_cast<int>((whole_.bytes + unit_ - 1) / unit_); }
  /// Empty beyond the last one.
  GroupStretch at(int index) const {
    const Bytes skip = static_cast<Bytes>(index) * unit_;
    return skip < whole_.bytes ? GroupStretch{whole_.offset + skip, std::min(unit_, whole_.bytes - skip)}
                               : GroupStretch{};
  }

 private:
  GroupStretch whole_;
  Bytes unit_;
};

/// The data must outlive it.
class GroupExchange {
 public:
  GroupExchange(plan::Builder& builder, const GroupData& data, const GroupShares& group, const plan::Choice& choice);

  /// Starts these rounds, receives before sends. A segment is one message (copy-based), or one for each run of it in
  /// the output. No more sends than `connections` are under way.
  void start(std::span<const groups::Round> rounds) {
    receive(rounds);
    send(rounds);
  }
  /// The two halves, for those who send a segment before its round's others have come.
  void receive(std::span<const groups::Round> rounds);
  void send(std::span<const groups::Round> rounds);
  void receive(int from, const GroupStretch& segment);
  void send(int to, const GroupStretch& segment);
  /// Waits for the next segment, in the order in which rounds were started; of none, for nothing.
  void finish_segment();
  void finish_receives();
  void finish_sends() { sends_.finish_all(); }

 private:
  plan::Builder& builder_;
  const GroupData& data_;
  const GroupShares& group_;
  Bytes segment_;
  InFlight receives_;
  InFlight sends_;
  std::deque<int> messages_;  ///< of each segment to come
};

/// Masters hand their groups' data to their node. All ranks of the node call the same in the same order.
class GroupSpread {
 public:
  /// `masters_read`: masters get what they have themselves out of their cells like everyone else, as the paper counts
  /// it. The data must outlive it.
  GroupSpread(plan::Builder& builder, const GroupData& data, const plan::Choice& choice, bool masters_read)
      : builder_(builder), data_(data), phases_(builder, choice), masters_read_(masters_read) {}

  smp::Phases& phases() { return phases_; }

  /// `stretch_of(group)`: what every master of the node has of its group at this point. Groups of one master follow
  /// each other, a turn for each.
  template <class StretchOf>
  void pass(StretchOf stretch_of) {
    std::vector<GroupStretch> stretches;
    for (const GroupShares& group : data_.groups()) stretches.push_back(stretch_of(group));
    for (int turn = 0; turn < turns(); ++turn) pass_turn(stretches, turn);
  }

 private:
  int turns() const;
  void pass_turn(const std::vector<GroupStretch>& stretches, int turn);
  void take(const GroupShares& group, const GroupStretch& piece, bool is_own, auto get);

  plan::Builder& builder_;
  const GroupData& data_;
  smp::Phases phases_;
  bool masters_read_;
};

}  // namespace espalier::algorithms
