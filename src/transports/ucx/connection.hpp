#pragma once
// Both directions between this rank and one peer.

#include <new>

#include "transports/ucx/endpoint.hpp"
#include "transports/ucx/incoming.hpp"
#include "transports/ucx/outgoing.hpp"

namespace espalier::transports::ucx {

/// Made by both ranks when they first have a message. Its memory: the ring that the peer writes to, the image of the
/// ring that we write to, and the outbox.
class Connection {
 public:
  /// Throws Error. `mailbox` is what the peer writes to.
  Connection(Worker& worker, const PeerAddress& peer, Rank me, const Mailbox& mailbox, Bytes ring, bool in_order)
      : memory_(Memory::allocate(*worker.context(), 2 * ring + sizeof(Incoming::Outbox))),
        endpoint(worker, peer, me, mailbox, in_order),
        outbox_(*new (memory_.base() + 2 * ring) Incoming::Outbox),
        outgoing(endpoint, memory_.base() + ring, memory_, ring),
        incoming(endpoint, memory_.base(), outbox_, memory_, ring) {}

  void advance() noexcept {
    incoming.advance();
    outgoing.advance();
  }
  bool is_idle() const { return outgoing.is_idle() && incoming.is_idle(); }

  /// Tells the peer that this rank wants nothing any more.
  void say_farewell() noexcept {
    endpoint.put_mailbox(&outbox_.farewell, sizeof(outbox_.farewell), offsetof(Mailbox, farewell), farewell_, &memory_);
  }
  /// Whether both have said so, or the peer is gone.
  bool has_parted() const {
    return endpoint.is_broken() || (load(endpoint.mailbox().farewell) != 0 && farewell_.writes == 0);
  }

 private:
  Memory memory_;

 public:
  Endpoint endpoint;

 private:
  Incoming::Outbox& outbox_;

 public:
  Outgoing outgoing;
  Incoming incoming;
  bool is_listed = false;  ///< among those the network advances

 private:
  Pending farewell_;
};

}  // namespace espalier::transports::ucx
