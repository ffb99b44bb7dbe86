#pragma once
// The sending direction of a connection.

#include <array>
#include <cstdint>

#include "transports/ucx/endpoint.hpp"
#include "transports/ucx/operation.hpp"
#include "transports/ucx/ring.hpp"

namespace espalier::transports::ucx {

/// Sends messages in order: short ones as records into the peer's ring, large ones straight into its buffers, each
/// followed by a record without payload that says so.
class Outgoing {
 public:
  /// `image` is as large as the peer's ring and lies in `memory`. A record's word, and where writes are in order also
  /// its payload, starts from the same place in the image as it goes to in the ring: what is free there is free here.
  Outgoing(Endpoint& endpoint, std::byte* image, const Memory& memory, Bytes ring_bytes);

  void start(Operation& send, bool is_large) noexcept;
  /// Does what can be done now; never waits.
  void advance() noexcept;
  bool is_idle() const { return queue_.front() == nullptr; }

 private:
  bool find_ring() noexcept;
  const Note* arrived(std::uint64_t number) const noexcept;
  void begin_large() noexcept;
  void begin(Operation& send, const Note& note) noexcept;
  bool push(Operation& send) noexcept;
  bool push_record(Operation& send, Bytes payload) noexcept;
  void put_record(Operation& send, Bytes payload, Cursor::Place place, std::uint32_t lines) noexcept;

  Endpoint& endpoint_;
  std::byte* image_;
  const Memory& memory_;
  std::uint32_t ring_lines_;
  Bytes longest_;  ///< payload of one record
  Cursor cursor_;
  std::uint64_t ring_there_ = 0;  ///< 0: not known yet
  Key ring_key_;
  std::uint64_t larges_ = 0;  ///< started so far

  // The keys last used, by place of the note. A buffer that comes again has the same packed key: equal bytes mean the
  // same registration or one that took its place, and decode to the same thing.
  struct LastKey {
    Note note;
    Key key;
  };
  std::array<LastKey, notes_at_once> keys_;
  Queue queue_;
};

}  // namespace espalier::transports::ucx
