#pragma once
// Memory for one call at a time, kept between calls so that a repeated call allocates nothing.

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/ids.hpp"

namespace espalier::mpi {

/// Where the second of two pieces of it may begin behind a first one of so many bytes.
constexpr Bytes align_to_line(Bytes bytes) { return (bytes + 63) / 64 * 64; }

class Scratch {
 public:
  /// At least `bytes`, with undefined contents, until the next take() or trim(). Throws std::bad_alloc.
  std::byte* take(Bytes bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return memory_.get();
  }

  /// Gives memory back after a call that needed unusually much.
  void trim() {
    if (size_ <= kept_bytes) return;
    memory_.reset();
    size_ = 0;
  }

 private:
  /// Beyond this, filling the memory takes longer than mapping it anew.
  static constexpr Bytes kept_bytes = Bytes{4} << 20;

  std::unique_ptr<std::byte[]> memory_;
  Bytes size_ = 0;
};

}  // namespace espalier::mpi
