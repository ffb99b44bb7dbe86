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
  Connection(Worker& worker, const PeerAddress& peer, Rank me, const Mailbox& mailbox, const UcxOptions& options)
      : memory_(Memory::allocate(*worker.context(), 2 * options.ring + sizeof(Incoming::Outbox))),
        endpoint(worker, peer, me, mailbox, options),
        outbox_(*new (memory_.base() + 2 * options.ring) Incoming::Outbox),
        outgoing(endpoint, memory_.base() + options.ring, memory_, options.ring),
        incoming(endpoint, memory_.base(), outbox_, memory_, options.ring) {}

  void advance() noexcept {
    incoming.advance();
    outgoing.advance();
  }
  bool is_idle() const { return outgoing.is_idle() && incoming.is_idle(); }

  /// This rank wants nothing any more. Waits for nobody: has_parted() goes on with it.
  void start_parting() noexcept { endpoint.flush(farewell_); }
  /// Whether both have said so, and all writes have arrived; or the peer is gone. To be asked until it is true, between
  /// progress of the worker. The farewell is a rank's last write: memory may go when it has been seen.
  bool has_parted() noexcept {
    if (farewell_.writes == 0 && !is_farewell_said_) {
      is_farewell_said_ = true;
      endpoint.put_mailbox(&outbox_.farewell, sizeof(outbox_.farewell), offsetof(Mailbox, farewell), farewell_,
                           &memory_);
      endpoint.flush(farewell_);
    }
    return endpoint.is_broken() || (farewell_.writes == 0 && load(endpoint.mailbox().farewell) != 0);
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
  bool is_farewell_said_ = false;
};

}  // namespace espalier::transports::ucx
