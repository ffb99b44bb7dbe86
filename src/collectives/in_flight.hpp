#pragma once
// Messages that a program has started and not finished yet.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "plan/builder.hpp"
#include "plan/choice.hpp"

namespace espalier::collectives {

/// At most `limit` messages under way: one more waits for the oldest. Bounds slots, and what a network has to juggle.
class InFlight {
 public:
  explicit InFlight(plan::Builder& builder, std::size_t limit = std::numeric_limits<std::size_t>::max())
      : builder_(builder), limit_(limit) {}
  /// The limit is the choice's `connections`.
  InFlight(plan::Builder& builder, const plan::Choice& choice) : InFlight(builder) {
    if (choice.connections > 0) limit_ = static_cast<std::size_t>(choice.connections);
  }

  /// Call before starting a message.
  void make_room() {
    if (slots_.size() >= limit_) finish_oldest();
  }
  void add(std::uint32_t slot) { slots_.push_back(slot); }
  void finish_oldest() {
    builder_.finish(slots_.front());
    slots_.pop_front();
  }
  void finish_all() {
    while (!slots_.empty()) finish_oldest();
  }
  std::size_t size() const { return slots_.size(); }

 private:
  plan::Builder& builder_;
  std::size_t limit_;
  std::deque<std::uint32_t> slots_;
};

}  // namespace espalier::collectives
