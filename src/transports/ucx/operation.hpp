#pragma once
// One message under way, and the queue of those of one direction of a connection.

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "transports/ucx/endpoint.hpp"
#include "transports/ucx/memory.hpp"

namespace espalier::transports::ucx {

class Connection;

/// Lives in a slot of the network; never moves.
struct Operation {
  enum class State {
    idle,      ///< complete, or never started
    queued,    ///< its direction works on it
    draining,  ///< a send of which everything has been started
  };
  State state = State::idle;
  Connection* connection = nullptr;
  Operation* next = nullptr;  ///< in the queue

  std::byte* data = nullptr;  ///< read by a send, written by a receipt
  Bytes bytes = 0;
  Bytes moved = 0;         ///< through the ring so far
  std::uint64_t note = 0;  ///< its note's number; 0: goes through the ring
  bool has_begun = false;  ///< large: the write has been started, or the note sent
  Pending pending;         ///< writes that use its memory
  Memory memory;           ///< receipt: registered for the peer

  bool is_complete() const { return state == State::idle || (state == State::draining && pending.writes == 0); }
};

/// First in, first out; owns nothing and allocates nothing.
class Queue {
 public:
  Operation* front() const { return first_; }

  void push(Operation& operation) {
    operation.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &operation;
    last_ = &operation;
  }

  void pop() { first_ = first_->next; }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

}  // namespace espalier::transports::ucx
