#pragma once
// What MPI calls a collective, and how one is made: words for people.

#include <cstdint>
#include <string>

#include "plan/problem.hpp"

namespace espalier::plan {

/// How a call is made.
enum class CallForm : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int call_forms = 3;

/// What tells how long a call's blocks are: one size for all, a count for each rank (MPI_Alltoallv and its like), or a
/// type for each, too (MPI_Alltoallw).
enum class BlockSizes : std::uint8_t { equal, counts, types };
inline constexpr int block_sizes = 3;
/// Of the calls that come to such a problem, as far as that says it: their counts may be all equal, or types.
inline BlockSizes blocks_of(const Problem& problem) {
  return problem.counts.empty() ? BlockSizes::equal : BlockSizes::counts;
}

/// "MPI_Bcast" and so on; empty for what is no operation. Of all calls of an operation.
const char* mpi_name(Operation operation);
/// As MPI calls it: "MPI_Igatherv", "MPI_Reduce_scatter_block", "MPI_Bcast_init"; empty for what is no operation.
std::string call_name(Operation operation, BlockSizes blocks, CallForm form = CallForm::blocking);
/// "MPI_Bcast of 64 bytes, root 0"; "a call" for what is no operation. No bytes are not told, nor are roots of
/// operations that have none.
std::string describe_call(Operation operation, BlockSizes blocks, CallForm form, Bytes bytes, int root);
/// "blocking" and so on; empty for what is no form.
const char* name(CallForm form);

}  // namespace espalier::plan
