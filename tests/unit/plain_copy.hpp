#pragma once
// Single copy where all ranks' memory is one, as between threads.

#include <cstring>

#include "execute/seams.hpp"

namespace espalier::testing {

/// May be told to fail, as a system does that forbids it.
class PlainCopy final : public execute::SingleCopy {
 public:
  bool read(LocalRank, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept override {
    if (works) std::memcpy(mine, theirs, bytes);
    return works;
  }
  bool write(LocalRank, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept override {
    if (works) std::memcpy(theirs, mine, bytes);
    return works;
  }
  bool works = true;
};

}  // namespace espalier::testing
