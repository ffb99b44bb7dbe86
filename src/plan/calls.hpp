#pragma once
// One call of a collective as it is told: to a neighbour that waits, `espalier hang`, ESPALIER_CHECK, a profile. And
// what MPI calls it: words for people.

#include <compare>
#include <cstdint>
#include <optional>
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

/// What is said of a call to whoever looks at it from outside: nobody needs this to make it. It is made where the call
/// comes in, from MPI's arguments (mpi/calls/call_of.hpp), or from the problem that these came to, and only when
/// somebody is told; from there it is passed on as it is. The same words mean the same in all processes: what needs
/// MPI's handles is told beside it (mpi/observe/subject.hpp).
struct Call {
  Operation operation = Operation::barrier;
  BlockSizes blocks = BlockSizes::equal;
  CallForm form = CallForm::blocking;
  std::int32_t root = 0;  ///< 0 also where the operation has none
  /// Of the message, or of one block; or what the rank brings, where somebody has added that up. None: not known.
  std::optional<Bytes> bytes = {};
  std::uint64_t number = 0;  ///< of the program's calls on the communicator, from 1 on; 0: not known

  auto operator<=>(const Call&) const = default;
  bool has_counts() const { return blocks != BlockSizes::equal; }
};
/// The blocking call that comes to such a problem, as far as that says it: counts may be all equal, or types.
inline Call call_of(const Problem& problem) {
  const bool is_told = !has_edges(problem.operation) || problem.bytes != 0;
  return {.operation = problem.operation,
          .blocks = problem.counts.empty() ? BlockSizes::equal : BlockSizes::counts,
          .root = problem.root.value,
          .bytes = is_told ? std::optional(problem.bytes) : std::nullopt};
}

/// "MPI_Bcast" and so on; empty for what is no operation. Of all calls of an operation.
const char* mpi_name(Operation operation);
/// As MPI calls it: "MPI_Igatherv", "MPI_Reduce_scatter_block", "MPI_Bcast_init"; empty for what is no operation.
std::string name_of(const Call& call);
/// "MPI_Bcast of 64 bytes, root 0"; "a call" for what is no operation. Not told are bytes that nobody knows, and roots
/// of operations that have none. `data`: what else is known of these, behind the bytes.
std::string describe(const Call& call, const std::string& data = "");
/// "blocking" and so on; empty for what is no form.
const char* name(CallForm form);

}  // namespace espalier::plan
