#pragma once
// What is to be done, in terms that all ranks agree on.

#include <cstdint>
#include <string_view>

#include "base/ids.hpp"

namespace espalier::plan {

enum class Operation : std::uint8_t { broadcast, allgather, barrier };
inline constexpr int operation_count = 3;

/// One collective call, free of MPI: data are bytes, already packed.
struct Problem {
  Operation operation = Operation::barrier;
  /// Broadcast: size of the message. Allgather: size of one rank's block (all equal). Barrier: 0.
  Bytes bytes = 0;
  /// Broadcast: who has the message. Otherwise rank 0.
  Rank root{0};

  bool operator==(const Problem&) const = default;
};

/// Largest message (broadcast) or block (allgather) that on one node takes the dedicated path of execute/tiny.hpp
/// instead of a program; so does the barrier.
inline constexpr Bytes tiny_bytes = 4144;

const char* name(Operation operation);

/// Accepts the names ("broadcast") and MPI's short forms ("bcast"). Throws Error listing them.
Operation parse_operation(std::string_view text);

/// Sizes of the two buffers a rank brings to a problem, in bytes.
Bytes input_bytes(const Problem& problem);
Bytes output_bytes(const Problem& problem, int ranks);

}  // namespace espalier::plan
