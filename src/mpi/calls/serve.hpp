#pragma once
// What all collectives share: finding the communicator, staging what is not plain bytes, running, failing.

#include <optional>

#include "execute/seams.hpp"
#include "mpi/calls/calls.hpp"
#include "mpi/process/communicator.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {

/// Counts a call that native is to do, for a reason. Always empty.
std::optional<int> leave(plan::Operation operation, const char* reason);
/// The same for arguments that MPI forbids.
std::optional<int> refuse_arguments(plan::Operation operation);

/// MPICH, and its like, refuse the same buffer on both sides and want MPI_IN_PLACE.
#if defined(OPEN_MPI)
inline constexpr bool refuses_aliases = false;
#else
inline constexpr bool refuses_aliases = true;
#endif
/// They also refuse data that are nowhere.
inline constexpr bool refuses_missing = refuses_aliases;

/// Whether the buffers are such that this MPI refuses them: `part` is `block` of `whole`.
bool is_forbidden_alias(const Side& part, const Side& whole, int block);

/// What a rank brings to a call and where it wants the result. Null: nothing. In place, the input is where MPI says it
/// lies in the receive buffer (for a scatter's root, the output in the send buffer).
struct Sides {
  const Side* input = nullptr;
  const Side* output = nullptr;
  /// The input is the whole of the output buffer and must survive while that is written (alltoall, reduce_scatter).
  bool must_copy = false;
  /// Blocks are not all as long as the problem says: what is missing is made up for, what there is no room for is left
  /// out, and an error says so.
  bool differ = false;
  /// There must be data, and the caller says nowhere. Not every MPI looks, so that native may not be left alone with
  /// it.
  bool are_missing = false;
};

/// MPI's code for types that were not committed: native refuses them, on every rank, before anybody moves data. Asked
/// before prepare(), where ranks may have to wait for each other: who is refused waits for nobody.
inline int check_committed(const Sides& sides, MPI_Comm comm) {
  int code = MPI_SUCCESS;
  if (sides.input != nullptr) code = sides.input->check_committed(comm);
  if (sides.output != nullptr && code == MPI_SUCCESS) code = sides.output->check_committed(comm);
  return code;
}

/// Calls the communicator's error handler and returns the code.
int report(MPI_Comm comm, int code);

/// What was decided for a problem, or null: then the call is native and has been counted.
inline Entry* prepare(Communicator& communicator, const plan::Problem& problem) {
  Entry& entry = communicator.engine()->prepare(problem);
  if (entry.kind != Entry::Kind::native && communicator.engine()->supply(entry)) return &entry;
  communicator.engine()->pass_on(entry);
  if (entry.is_passed_on) communicator.note_selected();
  return nullptr;
}

/// prepare(), and if the call is ours, does it.
std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem, const Sides& sides);

/// A transport broke, or a wait was given up: the communicator is unusable from now on. Calls its error handler and
/// returns the code: the class that MPI has for it where a rank died or somebody revoked the communicator.
int fail(Communicator& communicator, MPI_Comm comm);

/// MPI's code of a call that has not ended as all calls should.
[[gnu::cold]] int conclude(Communicator& communicator, MPI_Comm comm, const execute::Ending& ending);

/// Runs what was prepared on plain bytes and returns MPI's code.
inline int run(Communicator& communicator, MPI_Comm comm, Entry& entry, std::byte* input, std::byte* output,
               const execute::Reducer* reducer = nullptr) {
  if (communicator.is_broken) return fail(communicator, comm);
  const execute::Ending ending = communicator.engine()->attempt(entry, input, output, reducer);
  if (ending.kind == execute::Ending::done) [[likely]]
    return MPI_SUCCESS;
  return conclude(communicator, comm, communicator.engine()->settle(entry, input, output, entry.problem.bytes, ending));
}

}  // namespace espalier::mpi
