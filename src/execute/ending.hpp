#pragma once
// How a call ended on one rank.

#include <cstdint>

#include "base/ids.hpp"

namespace espalier::execute {

struct Ending {
  enum Kind : std::uint8_t {
    done,
    shorter,    ///< less than this rank expected was sent to it: `bytes`, if that came in one block
    truncated,  ///< more was sent to this rank than it has room for, or is not to be combined with what it has
    other,      ///< not done: the others do the same with blocks of `bytes`
    broken,     ///< a transport broke, or a wait was given up: the communicator cannot be used any more
  };
  Kind kind = done;
  Bytes bytes = 0;

  /// This rank has what it is to have.
  explicit operator bool() const noexcept { return kind == done || kind == shorter; }
};

}  // namespace espalier::execute
