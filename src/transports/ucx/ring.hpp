#pragma once
// Arithmetic of a ring of records. Sender and receiver do the same sums, so no header says where a record lies or ends.
//
//     line 0          line 1                       one record of 2 lines: the payload ends where the word begins
//     ┌──────────────┬─────────────────────┬────┐
//     │ (unused)     │ payload …           │word│   word = sequence number, and how much its sender has consumed of
//     └──────────────┴─────────────────────┴────┘          what flows the other way (credits ride along for free)
//
// A word lies only in the last 8 bytes of a line. Whoever consumes a record clears these bytes in each of its lines
// before giving it back: old payload is never taken for a word. An old word may come back, though: memcpy may store 8
// bytes twice (as two halves that overlap wholly), the second time after the clearing. So only the word with the
// sequence number that is due counts; one from before is as good as none.

#include <cstdint>

#include "base/ids.hpp"

namespace espalier::transports::ucx {

inline constexpr Bytes line_bytes = 64;
inline constexpr Bytes word_bytes = 8;

/// Lines of a record with that much payload.
constexpr std::uint32_t lines_of(Bytes payload) {
  return static_cast<std::uint32_t>((payload + word_bytes + line_bytes - 1) / line_bytes);
}

/// The most payload of one record in a ring of so many lines: a quarter of the ring. With what is skipped at the ring's
/// end and what the receiver may hold back before it gives credit (also a quarter each), the next record always fits
/// once the receiver has read all earlier ones.
constexpr Bytes longest_payload(std::uint32_t ring_lines) { return ring_lines / 4 * line_bytes - word_bytes; }

/// What ends a record. Written by aligned 8-byte stores, hence seen whole.
struct Word {
  std::uint32_t sequence = 0;  ///< never 0: that is "nothing here yet"
  std::uint32_t consumed = 0;  ///< lines, modulo 2^32

  constexpr std::uint64_t bits() const { return std::uint64_t{sequence} << 32 | consumed; }
  static constexpr Word from(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }
};

constexpr std::uint32_t sequence_after(std::uint32_t sequence) { return sequence + 1 == 0 ? 1 : sequence + 1; }

/// Whether count `a` is ahead of `b`, both modulo 2^32 and less than 2^31 apart.
constexpr bool is_ahead(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

/// One end's position in a ring. Records do not wrap: what is left at the end is skipped when too short.
class Cursor {
 public:
  explicit Cursor(std::uint32_t ring_lines) : ring_(ring_lines) {}

  struct Place {
    std::uint32_t begin = 0;  ///< line where the record starts
    std::uint32_t count = 0;  ///< lines of all records up to and with this one, skipped ones included, modulo 2^32
  };

  /// Where the next record goes, were it `lines` <= ring_lines long.
  Place next(std::uint32_t lines) const {
    const std::uint32_t left = ring_ - line_;
    if (lines <= left) return {line_, count_ + lines};
    return {0, count_ + left + lines};
  }

  void move_past(Place place, std::uint32_t lines) {
    line_ = place.begin + lines;
    count_ = place.count;
    sequence_ = sequence_after(sequence_);
  }

  std::uint32_t count() const { return count_; }
  /// Sequence number of the next record.
  std::uint32_t sequence() const { return sequence_; }

 private:
  std::uint32_t ring_;
  std::uint32_t line_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t sequence_ = 1;
};

}  // namespace espalier::transports::ucx
