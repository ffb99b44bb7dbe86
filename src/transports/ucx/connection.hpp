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
      : memory_(Memory::allocate(worker.context(), 2 * options.ring + sizeof(Incoming::Outbox))),
        endpoint(worker, peer, me, mailbox, options),
        outbox_(*new (memory_.base() + 2 * options.ring) Incoming::Outbox),
        outgoing(endpoint, memory_.base() + options.ring, memory_, options.ring),
        incoming(endpoint, memory_.base(), outbox_, memory_, options.ring) {}

  void advance() noexcept {
    endpoint.advance();
    incoming.advance();
    outgoing.advance();
  }
  bool is_idle() const { return endpoint.is_idle() && outgoing.is_idle() && incoming.is_idle(); }

  /// Whether both ranks have said that they want nothing any more, and all writes have arrived: then this may be
  /// destroyed. The first call starts to say so, and it is to be asked again between progress of the worker. The
  /// farewell is a rank's last write: memory may go when it has been seen.
  bool has_parted() noexcept {
    endpoint.advance();
    if (endpoint.is_broken() || !endpoint.is_idle()) return false;
    if (!is_farewell_said_) {
      is_farewell_said_ = true;
      const Endpoint::Way way = endpoint.way_to_mailbox(offsetof(Mailbox, farewell), &memory_);
      endpoint.put_last(&outbox_.farewell, sizeof(outbox_.farewell), way, farewell_);
    } else if (farewell_.writes == 0 && !is_flushed_) {
      is_flushed_ = true;
      endpoint.flush(farewell_);
    }
    return is_flushed_ && farewell_.writes == 0 && !farewell_.has_failed && load(endpoint.mailbox().farewell) != 0;
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
  bool is_flushed_ = false;
};

}  // namespace espalier::transports::ucx
