#pragma once
// Where short messages lie: each rank writes them one behind the other into its ring of lines.

#include <cstddef>
#include <cstdint>

namespace espalier::execute {

/// Lines that one short message may take: 4 KiB and a bit. Beyond, single copy is faster (bench_node: 2 ranks, 4K 0.95
/// µs through lines, 1.5 µs through cells; 8K 1.5 µs through lines, 1.3 µs by single copy).
inline constexpr std::uint32_t tiny_lines = 74;

/// A ring is made of blocks; a message lies within one. Whoever enters a block waits until all readers have left the
/// last call that used it. With two blocks a root can be one block ahead of its slowest reader, 148 broadcasts of up to
/// 56 bytes in a long ring: where ranks share cores, that many calls share one context switch. More blocks would leave
/// the first-level cache.
inline constexpr std::uint32_t ring_blocks = 2;

/// What a communicator begins with, beside its flags, and what it gets once it uses it (docs/adr/0023).
inline constexpr std::uint32_t short_ring_block = 12;
inline constexpr std::uint32_t long_ring_block = 2 * tiny_lines;

constexpr std::uint32_t ring_lines(std::uint32_t block) { return ring_blocks * block; }

/// Where a message lies in its writer's ring.
struct RingPlace {
  std::uint32_t begin;  ///< its first line
  std::uint32_t block;  ///< which it lies in
  bool opens_block;     ///< it is the first in this block since the ring came round
};

/// Position in one rank's ring. All its node keeps the same count, because all know every message's owner and size.
///
///     ┌───────────── block 1 ───┬─── block 0 ─────────────┐
///     │ … message 3 │ message 2 │ message 1 │ message 0   │      each one's lines from left to right
///
/// Each message lies before the one that came before it. Processors fetch on behind what they read: in the other order
/// that would be the next message, whose lines its writer has just made its own.
class RingCursor {
 public:
  /// Where the next message goes, of `lines` <= `block` lines, in a ring of two blocks of `block` lines.
  RingPlace place(std::uint32_t lines, std::uint32_t block) noexcept {
    std::uint32_t index = next_ >= block ? 1 : 0;
    if (next_ + lines > (index + 1) * block) {
      next_ = index == 0 ? block : 0;
      index = 1 - index;
    }
    const RingPlace place{ring_lines(block) - next_ - lines, index, next_ == index * block};
    next_ += lines;
    return place;
  }
  /// The owner's last message begins there.
  void follow(std::uint32_t begin, std::uint32_t block) noexcept { next_ = ring_lines(block) - begin; }

 private:
  std::uint32_t next_ = 0;
};
static_assert(ring_blocks == 2, "RingCursor::place");

}  // namespace espalier::execute
