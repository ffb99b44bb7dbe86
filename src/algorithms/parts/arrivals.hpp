#pragma once
// Messages that a program expects: so many receives at a time are posted, and finished one after the other.

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "plan/builder.hpp"

namespace espalier::algorithms {

class Arrivals {
 public:
  /// At most `ahead` receives are posted: enough to keep a network busy, and to bound slots.
  explicit Arrivals(plan::Builder& builder, std::size_t ahead = 32) : builder_(builder), ahead_(ahead) {}

  struct Message {
    Rank from;
    plan::Buffer into;
    Bytes begin;
    Bytes bytes;
    std::function<void()> arrived = {};  ///< emits what is to be done next; may be empty
  };

  /// Messages of one sender arrive in the order in which they are wanted. Of no bytes, nothing.
  void want(Message message) {
    if (message.bytes > 0) wanted_.push_back(std::move(message));
  }

  void post() {
    for (; !wanted_.empty() && posted_.size() < ahead_; wanted_.pop_front()) {
      const Message& message = wanted_.front();
      posted_.emplace_back(builder_.recv(message.from, message.into, message.begin, message.bytes), message);
    }
  }

  /// Waits for the oldest of those that are still expected; there must be one.
  void finish_oldest() {
    post();
    const auto [slot, message] = std::move(posted_.front());
    posted_.pop_front();
    builder_.finish(slot);
    post();
    if (message.arrived) message.arrived();
  }
  void finish_all() {
    while (is_expecting()) finish_oldest();
  }
  /// Waits until all of begin … end - 1 of the buffer is there, as far as it is expected.
  void finish(Bytes begin, Bytes end) {
    const auto overlaps = [&](const Message& it) { return it.begin < end && begin < it.begin + it.bytes; };
    const auto is_open = [&] {
      for (const auto& [slot, message] : posted_)
        if (overlaps(message)) return true;
      for (const Message& message : wanted_)
        if (overlaps(message)) return true;
      return false;
    };
    while (is_open()) finish_oldest();
  }

  bool is_expecting() const { return !posted_.empty() || !wanted_.empty(); }

 private:
  plan::Builder& builder_;
  std::size_t ahead_;
  std::deque<Message> wanted_;
  std::deque<std::pair<std::uint32_t, Message>> posted_;
};

}  // namespace espalier::algorithms
