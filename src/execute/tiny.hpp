#pragma once
// The dedicated path for messages that fit into a few cache lines, each with its sequence number: on one node, without
// plan or interpreter. A reader waits for each line as it needs it, so that flag and payload are one transfer between
// caches, and the lines of a message overlap.

#include <cstddef>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// Largest message (broadcast) or block (allgather) that takes this path.
inline constexpr Bytes tiny_bytes = plan::tiny_bytes;
static_assert(tiny_bytes == tiny_lines * Line::payload_bytes, "the longest message fills its lines");

/// Each of these is one call on the seat's communicator, made by all ranks of the node, with equal `bytes` and `root`;
/// they begin the call themselves. All ranks of the communicator must sit on this node. `bytes` <= tiny_bytes.
void run_tiny_broadcast(Seat& seat, LocalRank root, std::byte* data, Bytes bytes, Waiter& waiter) noexcept;

/// `input` (this rank's block) may lie in `output` (ranks * bytes), at its own place.
void run_tiny_allgather(Seat& seat, const std::byte* input, std::byte* output, Bytes bytes, Waiter& waiter) noexcept;

void run_tiny_barrier(Seat& seat, Waiter& waiter) noexcept;

}  // namespace espalier::execute
