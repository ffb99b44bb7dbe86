#pragma once
// Messages between ranks of a node as libraries of sends and receives carry them, written for all ranks at once.

#include <vector>

#include "plan/program.hpp"

namespace espalier::simulate {

/// Up to `most_copied` bytes a message goes through its sender's shared memory, and its sender goes on; of a longer one
/// the receiver is told where it lies and copies it from there. Every message through memory has a place of its own,
/// and nobody waits until it is free: more than real libraries can afford.
class PeerMessages {
 public:
  using Step = plan::Step;
  struct Range {
    plan::Buffer buffer;
    Bytes offset;
    Bytes bytes;
  };
  struct Sent {
    int from;
    std::uint64_t tick;
    Range range;  ///< of the sender's
    Bytes place;  ///< in its window
    bool is_copied;
  };

  PeerMessages(int ranks, Bytes most_copied)
      : most_copied_(most_copied),
        programs_(static_cast<std::size_t>(ranks)),
        ready_(programs_.size()),
        taken_(programs_.size()) {}

  int ranks() const { return static_cast<int>(programs_.size()); }

  /// What one rank shows to any number of others.
  Sent send(int from, const Range& range) {
    plan::Program& program = of(from);
    const Sent sent{from, ++at(ready_, from), range, program.window_bytes, range.bytes <= most_copied_};
    if (sent.is_copied && range.bytes > 0) {
      emit(from, Step::put(range.buffer, range.offset, range.bytes, sent.place));
      program.window_bytes += (range.bytes + 63) / 64 * 64;
    }
    emit(from, Step::post(plan::Flag::ready, sent.tick));
    return sent;
  }

  /// What lies `skip` bytes into it.
  void receive(int to, const Sent& sent, Bytes skip, const Range& into) {
    look_for(to, sent);
    const LocalRank owner(sent.from);
    if (into.bytes == 0) return;
    if (sent.is_copied)
      emit(to, Step::get(owner, sent.place + skip, into.buffer, into.offset, into.bytes));
    else
      emit(to, Step::pull(owner, sent.range.buffer, sent.range.offset + skip, into.buffer, into.offset, into.bytes));
  }
  /// The same, combined with what is there: straight out of shared or mapped memory, or by way of a copy.
  void combine(int to, const Sent& sent, Bytes skip, const Range& into, bool is_mapped) {
    const LocalRank owner(sent.from), self(to);
    if (into.bytes == 0) return look_for(to, sent);
    if (sent.is_copied || is_mapped) {
      look_for(to, sent);
      const plan::Buffer far = sent.is_copied ? plan::Buffer::window : sent.range.buffer;
      const Bytes offset = (sent.is_copied ? sent.place : sent.range.offset) + skip;
      emit(to, Step::reduce(owner, far, offset, into.buffer, into.offset, into.bytes));
    } else {
      receive(to, sent, skip, {plan::Buffer::scratch, 0, into.bytes});
      emit(to, Step::reduce(self, plan::Buffer::scratch, 0, into.buffer, into.offset, into.bytes));
    }
  }
  void copy(int rank, const Range& from, plan::Buffer into, Bytes offset) {
    if (from.bytes > 0) emit(rank, Step::copy(from.buffer, from.offset, into, offset, from.bytes));
  }

  /// The receiver is done with all that it was sent so far; senders of long messages wait for that.
  std::uint64_t take(int to) {
    emit(to, Step::post(plan::Flag::taken, ++at(taken_, to)));
    return at(taken_, to);
  }
  void wait_for(int from, int receiver, std::uint64_t tick) {
    emit(from, Step::await(LocalRank(receiver), plan::Flag::taken, tick));
  }
  bool is_copied(Bytes bytes) const { return bytes <= most_copied_; }

  std::vector<plan::Program> finish(Bytes scratch) {
    for (plan::Program& program : programs_) program.scratch_bytes = scratch;
    return std::move(programs_);
  }

 private:
  template <class T>
  static T& at(std::vector<T>& of_rank, int rank) {
    return of_rank[static_cast<std::size_t>(rank)];
  }
  plan::Program& of(int rank) { return at(programs_, rank); }
  void emit(int rank, const Step& step) { of(rank).steps.push_back(step); }
  void look_for(int to, const Sent& sent) { emit(to, Step::await(LocalRank(sent.from), plan::Flag::ready, sent.tick)); }

  Bytes most_copied_;
  std::vector<plan::Program> programs_;
  std::vector<std::uint64_t> ready_, taken_;
};

}  // namespace espalier::simulate
