#pragma once
// What a peer writes to us besides records: few words, at a place that is there before the first message.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.hpp"

namespace espalier::transports::ucx {

/// Notes that can be on their way at once; so many large messages of one connection overlap.
inline constexpr std::uint32_t notes_at_once = 4;

/// "Here is memory of mine that you may write to." A connection's note 0 names the receiver's ring, note n the buffer
/// of its n-th large message. Note n lies at n % notes_at_once and replaces one that its reader has acted upon.
struct alignas(64) Note {
  std::uint64_t address = 0;
  std::uint32_t key_bytes = 0;  ///< 0: this memory cannot be registered; send through the ring instead
  std::array<std::byte, 236> key{};
  std::uint64_t serial = 0;  ///< n + 1; last, as the word of a record is

  std::span<const std::byte> packed_key() const { return {key.data(), key_bytes}; }
};
static_assert(sizeof(Note) == 256);

/// One for each peer, in memory of the rank that reads it. Every word has one writer, the peer.
struct alignas(64) Mailbox {
  std::uint64_t credit = 0;    ///< lines of our records that the peer has consumed, when no record could tell
  std::uint64_t farewell = 0;  ///< 1: the peer wants nothing any more
  std::array<Note, notes_at_once> notes;
};

/// Reads a word that a peer writes; what it wrote before is seen afterwards.
inline std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace espalier::transports::ucx
