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
/// 56 bytes: where ranks share cores, that many calls share one context switch. More blocks would leave the first-level
/// cache.
inline constexpr std::uint32_t ring_blocks = 2;
inline constexpr std::uint32_t ring_block_lines = 2 * tiny_lines;
inline constexpr std::uint32_t ring_lines = ring_blocks * ring_block_lines;

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
  /// Where the next message of `lines` <= tiny_lines lines goes.
  RingPlace place(std::uint32_t lines) noexcept {
    const std::uint32_t left = ring_block_lines - next_ % ring_block_lines;
    if (lines > left) next_ += left;
    if (next_ == ring_lines) next_ = 0;
    const RingPlace place{ring_lines - next_ - lines, next_ / ring_block_lines, next_ % ring_block_lines == 0};
    next_ += lines;
    return place;
  }

 private:
  std::uint32_t next_ = 0;
};

}  // namespace espalier::execute
