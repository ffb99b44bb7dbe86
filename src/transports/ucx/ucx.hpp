#pragma once
// Messages between nodes by RDMA write, through UCX. UCX is loaded when the first network is opened, so nothing here
// needs it to be installed. docs/ideas/ucx.md draws what happens.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "execute/seams.hpp"

namespace espalier::transports {

/// Equal on all ranks of a network, except one_write and farewell.
struct UcxOptions {
  /// From this size on, messages are written straight into the receiver's buffer; smaller ones are copied through its
  /// ring (bench_ucx sm: 16 KiB take 3.4 µs through the ring, 6.0 µs without a copy; 64 KiB the same either way).
  Bytes zero_copy_from = Bytes{32} << 10;
  /// A ring, and with it what one sender may have under way on the copied path. Small on purpose: it has to fit the
  /// buffers of a socket, so that a rank that has left the collective owes its peers no progress.
  Bytes ring = Bytes{32} << 10;
  /// Payload and sequence number travel in one write where bytes are stored in ascending order: over a single tcp
  /// connection, where UCX emulates writes and the receiver's own thread stores them. Elsewhere (InfiniBand with
  /// adaptive routing, EFA, several rails, shared memory), or when this is off, the number follows when the payload was
  /// flushed.
  bool one_write = true;
  /// Lets UCX use shared memory between ranks of one host. It cannot report a peer's death there (as of 1.13), so this
  /// rank then watches its peers' processes; they must be visible to it. Off, ranks of one host talk through its
  /// devices, as ranks of virtual nodes should.
  bool shared_memory = false;
  /// How long destruction waits for peers that have not come to it yet, in seconds. The memory of what is not over by
  /// then is given back when a later network is opened. Processes must not end while others still move messages
  /// (MPI_Finalize sees to that).
  double farewell = 2;
};

/// One rank's end of the messages of one communicator. All networks of a process share its UCX worker, and its links to
/// other processes. Two networks may be used by two threads at once, one by one thread at a time.
///
/// Set-up: every rank opens, all exchange their address() by whatever means they have, every rank calls connect() with
/// all of them. Endpoints and rings are made when a pair of ranks first has a message, by both of them.
///
/// A send is complete when its buffer is free and no more progress of this rank is needed for the message to arrive.
/// The receiver's progress may be needed before that: always for large messages, and for short ones where the payload
/// has to be flushed and UCX emulates writes. A peer that dies, or an endpoint that fails, turns what still needs it
/// into Progress::broken; messages that have arrived are still delivered.
///
/// Both ends of a message must name the same number of bytes: there is no header that could tell.
class UcxNetwork : public execute::Network {
 public:
  /// A network's end for rank `me` of `ranks`. Throws Error when UCX is missing or refuses.
  static std::unique_ptr<UcxNetwork> open(Rank me, int ranks, const UcxOptions& options = {});

  /// All ranks destroy theirs together, as they would free a communicator; waits at most options.farewell seconds.
  ~UcxNetwork() override = default;

  /// How the others reach this rank: some hundred bytes, not the same number on every rank.
  virtual std::vector<std::byte> address() const = 0;
  /// Takes the addresses of all ranks, in rank order. Local. Throws Error when one of them has other options or is no
  /// address.
  virtual void connect(std::span<const std::vector<std::byte>> addresses) = 0;

  /// Makes the link to a rank, as the first message would. Local. Throws Error when UCX has no way to it.
  virtual void reach(Rank peer) = 0;
};

}  // namespace espalier::transports
