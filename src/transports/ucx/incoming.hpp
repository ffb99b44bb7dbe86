#pragma once
// The receiving direction of a connection.

#include <array>
#include <cstdint>

#include "transports/ucx/endpoint.hpp"
#include "transports/ucx/operation.hpp"
#include "transports/ucx/ring.hpp"

namespace espalier::transports::ucx {

/// Receives messages in order: polls its ring, which the peer writes to, and names the buffers of large messages.
class Incoming {
 public:
  /// What this direction writes to the peer from; lies in registered memory.
  struct Outbox {
    std::array<Note, notes_at_once> notes;
    std::uint64_t credit = 0;
    std::uint64_t farewell = 1;
  };

  /// `ring`, zero-filled, and `outbox` lie in `memory`.
  Incoming(Endpoint& endpoint, std::byte* ring, Outbox& outbox, const Memory& memory, Bytes ring_bytes);

  void start(Operation& receipt, bool is_large) noexcept;
  /// Does what can be done now; never waits. What has arrived is taken even when the endpoint is broken.
  void advance() noexcept;
  bool is_idle() const { return queue_.front() == nullptr; }
  /// Writes of ours that are under way.
  const Pending& pending() const { return pending_; }

 private:
  void name_ring() noexcept;
  void name_buffers() noexcept;
  void name_buffer(Operation& receipt) noexcept;
  bool send_note(std::uint64_t number, const std::byte* address, const Memory& memory) noexcept;
  bool pull(Operation& receipt) noexcept;
  bool pull_record(Operation& receipt, Bytes payload) noexcept;
  void give_credit() noexcept;

  Endpoint& endpoint_;
  std::byte* ring_;
  Outbox& outbox_;
  const Memory& memory_;
  std::uint32_t ring_lines_;
  Bytes longest_;  ///< payload of one record
  Cursor cursor_;
  bool is_ring_named_ = false;
  std::uint64_t larges_ = 0;     ///< started so far
  std::uint64_t completed_ = 0;  ///< of these
  Pending pending_;
  Queue queue_;
};

}  // namespace espalier::transports::ucx
