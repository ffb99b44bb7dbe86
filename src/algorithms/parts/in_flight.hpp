#pragma once
// Messages that a program has started and not finished yet.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "plan/builder.hpp"
#include "plan/choice.hpp"

namespace espalier::algorithms {

/// Sends that most leave unfinished: enough to keep a network busy while the next ones become complete, and few slots.
inline constexpr std::size_t sends_ahead = 16;

/// At most `limit` messages of `most` bytes together under way: one more waits for the oldest. Bounds slots, and what a
/// network has to juggle.
class InFlight {
 public:
  explicit InFlight(plan::Builder& builder, std::size_t limit = std::numeric_limits<std::size_t>::max(),
                    Bytes most = std::numeric_limits<Bytes>::max())
      : builder_(builder), limit_(limit), most_(most) {}
  /// The limit is the choice's `connections`.
  InFlight(plan::Builder& builder, const plan::Choice& choice) : InFlight(builder) {
    if (choice.connections > 0) limit_ = static_cast<std::size_t>(choice.connections);
  }

  /// Call before starting a message of so many bytes.
  void make_room(Bytes bytes = 0) {
    while (!messages_.empty() && (messages_.size() >= limit_ || bytes > most_ - std::min(most_, under_way_)))
      finish_oldest();
  }
  void add(std::uint32_t slot, Bytes bytes = 0) {
    messages_.push_back({slot, bytes});
    under_way_ += bytes;
  }
  void finish_oldest() {
    builder_.finish(messages_.front().slot);
    under_way_ -= messages_.front().bytes;
    messages_.pop_front();
  }
  void finish_all() {
    while (!messages_.empty()) finish_oldest();
  }
  std::size_t size() const { return messages_.size(); }

 private:
  struct Message {
    std::uint32_t slot;
    Bytes bytes;
  };

  plan::Builder& builder_;
  std::size_t limit_;
  Bytes most_ = std::numeric_limits<Bytes>::max();
  Bytes under_way_ = 0;
  std::deque<Message> messages_;
};

}  // namespace espalier::algorithms
