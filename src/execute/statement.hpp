#pragma once
// What a rank says of the program that it is about to run: in which call, and for blocks of how many bytes. Programs of
// different sizes do not fit together, and only erroneous calls have any: those must come to an end all the same, and
// without damage. So who takes something from a neighbour, or reaches into its memory, compares.

#include <cstdint>
#include <optional>

#include "base/ids.hpp"

namespace espalier::execute {

class Statement {
 public:
  static constexpr int bytes_bits = 31;
  static constexpr Bytes most_bytes = (Bytes{1} << bytes_bits) - 2;
  /// In place of bytes: this rank has left the call with an error, and nobody is to wait for it.
  static constexpr Bytes has_left = most_bytes + 1;

  Statement() = default;
  explicit Statement(std::uint64_t word) : word_(word) {}
  Statement(std::uint64_t call, Bytes bytes) : word_(call << bytes_bits | bytes) {}

  std::uint64_t word() const noexcept { return word_; }
  Bytes bytes() const noexcept { return word_ & has_left; }
  bool is_of_call_of(const Statement& other) const noexcept { return word_ >> bytes_bits == other.word_ >> bytes_bits; }
  /// Calls' numbers come round, but not within one call.
  bool is_of_later_call_than(const Statement& other) const noexcept {
    return static_cast<std::int64_t>((word_ | has_left) - (other.word_ | has_left)) > 0;
  }
  friend bool operator==(const Statement&, const Statement&) = default;

 private:
  std::uint64_t word_ = 0;
};

}  // namespace espalier::execute
