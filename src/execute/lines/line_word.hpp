#pragma once
// What each line of a short message carries beside its payload.

#include <cstdint>

#include "base/ids.hpp"
#include "execute/lines/ring.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// Which call a line belongs to, where in its ring the message begins, and the bytes of
/// one block. Readers know all of it beforehand, so that one comparison finds a line that is as they expect. Where
/// ranks were given sizes that do not fit together, the writer's hold: a reader that does not get what it waits for
/// finds in any line of that call what was written instead, and where.
class LineWord {
 public:
  static constexpr int bytes_bits = 13, begin_bits = 9;
  /// In place of bytes: blocks say their sizes themselves (execute/lines/block_call.hpp).
  static constexpr Bytes of_blocks = (Bytes{1} << bytes_bits) - 1;

  LineWord() = default;
  explicit LineWord(std::uint64_t word) : word_(word) {}
  LineWord(std::uint64_t call, std::uint32_t begin, Bytes bytes)
      : word_((call << begin_bits | begin) << bytes_bits | bytes) {}

  std::uint64_t value() const noexcept { return word_; }
  std::uint32_t begin() const noexcept {
    return static_cast<std::uint32_t>(word_ >> bytes_bits) & ((1u << begin_bits) - 1);
  }
  Bytes bytes() const noexcept { return word_ & of_blocks; }
  /// The same with another beginning, where this one's is 0.
  LineWord at(std::uint32_t begin) const noexcept { return LineWord(word_ | std::uint64_t{begin} << bytes_bits); }
  bool is_of(std::uint64_t call) const noexcept { return word_ >> (bytes_bits + begin_bits) == call; }

 private:
  std::uint64_t word_;  // not initialised by itself: there are arrays of messages
};
static_assert(plan::tiny_bytes < LineWord::of_blocks);
static_assert(ring_lines(long_ring_block) <= 1u << LineWord::begin_bits);

}  // namespace espalier::execute
