#pragma once
// The dedicated path of short messages for blocks of different sizes that all ranks know: allgatherv, reduce_scatter.

#include "execute/ending.hpp"
#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::execute {

/// What ranks say to each other of a call's blocks: their bytes, or where all ranks know the counts of allgatherv or
/// reduce_scatter, a number that is alike on all if their counts are. Lines carry it, too: who waits compares both.
Bytes stated_bytes(const plan::Problem& problem);

/// As longest_message() (execute/lines/tiny.hpp), for a problem with counts.
std::uint32_t longest_message_of_counts(const plan::Problem& problem);

/// As run_tiny() (execute/lines/tiny.hpp), for a problem with counts. Throws GivenUp.
Ending run_tiny_counts(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                       const Reducer* reducer, Waiter& waiter);

}  // namespace espalier::execute
