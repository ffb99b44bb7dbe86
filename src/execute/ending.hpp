#pragma once
// How a call ended on one rank.

#include <cstdint>

#include "base/ids.hpp"

namespace espalier::execute {

/// One word, so that calls hand it back in a register.
struct Ending {
  enum Kind : std::uint64_t {
    done,
    shorter,    ///< less than this rank expected was sent to it: `bytes`, if that came in one block
    truncated,  ///< more was sent to this rank than it has room for, or is not to be combined with what it has
    other,      ///< not done: the others do the same with blocks of `bytes`
    native,     ///< not done: of others' size it is the MPI library's
    broken,     ///< a transport broke, or a wait was given up: the communicator cannot be used any more
  };

  constexpr Ending(Kind kind_ = done, Bytes bytes_ = 0) : kind(kind_), bytes(bytes_ & most_bytes) {}

  /// This rank has what it is to have.
  explicit operator bool() const noexcept { return kind == done || kind == shorter; }

  static constexpr Bytes most_bytes = (Bytes{1} << 56) - 1;
  Kind kind : 8;
  Bytes bytes : 56;
};
static_assert(sizeof(Ending) == sizeof(std::uint64_t));

}  // namespace espalier::execute
