#pragma once
// A communicator's ranks in MPI_COMM_WORLD, in its order, as a short text.

#include <span>
#include <string>

namespace espalier::mpi {

/// "0-3", "1-13:4", "2,0": runs of equal steps, between commas. Empty if that takes more than `most_members_text`
/// characters: ranks in no order.
std::string describe_members(std::span<const int> members);
inline constexpr std::size_t most_members_text = 1024;

}  // namespace espalier::mpi
