#pragma once
// What a communicator does not have from the start, because many never need it: long rings and windows.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace espalier::mpi {

/// Sets of what calls need.
using Needs = std::uint8_t;
inline constexpr Needs no_needs = 0, long_rings = 1, windows = 2, all_needs = long_rings | windows;

/// Where a communicator gets them. All its ranks call each at the same point of the same call, and get the same answer:
/// what one node has no memory for, nobody has.
class Supplies {
 public:
  virtual ~Supplies() = default;

  /// This node's long rings (execute::Board::use_long_rings), or null. Once. Without `is_needed` only where there is
  /// plenty of memory.
  virtual std::byte* get_long_rings(bool is_needed) = 0;
  /// Sees to it that every rank has windows to lend: asks, and waits for no-one.
  virtual void ask_for_windows() = 0;
  /// What was answered; nothing yet. Not asked again after an answer.
  virtual std::optional<bool> find_windows() = 0;
  /// The same at once.
  virtual bool get_windows() = 0;
};

}  // namespace espalier::mpi
