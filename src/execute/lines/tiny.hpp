#pragma once
// The dedicated path for messages that fit into a few cache lines, each with its sequence number: on one node, without
// plan or interpreter. A reader waits for each line as it needs it, so that flag and payload are one transfer between
// caches, and the lines of a message overlap.

#include <cstddef>

#include "execute/ending.hpp"
#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// Largest message of one writer that takes this path.
inline constexpr Bytes tiny_bytes = plan::tiny_bytes;
static_assert(tiny_bytes == tiny_lines * Line::payload_bytes, "the longest message fills its lines");

/// Lines of the longest message that a rank writes in such a call.
std::uint32_t longest_message(const plan::Problem& problem, int ranks);

/// One call of a problem with plan::is_tiny, made by all ranks of the seat's communicator, which all sit on this node.
/// Begins the call itself. Buffers as plan::input_bytes and output_bytes say; they may overlap as under MPI_IN_PLACE
/// (alltoall and reduce_scatter, too). `reducer` is needed by reductions only. Results of reductions fold from the
/// highest rank to rank 0, the same on all ranks.
///
/// Each rank sends what its problem says, and lines say what was sent: who expected something else takes that, as far
/// as there is room.
Ending run_tiny(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                const Reducer* reducer, Waiter& waiter) noexcept;
/// The same of a gather, allgather or alltoall without counts, with `room` bytes from one rank's block to the next in
/// `output`; not less than the problem's.
Ending run_tiny_with_room(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                          Waiter& waiter, Bytes room) noexcept;

}  // namespace espalier::execute
