#pragma once
// What all collectives share: deciding, staging what is not plain bytes, running or beginning to, failing.

#include <optional>
#include <string>

#include "execute/seams.hpp"
#include "mpi/calls/calls.hpp"
#include "mpi/calls/sides.hpp"
#include "mpi/calls/staging.hpp"
#include "mpi/calls/start.hpp"
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
/// As MPICH tells it of both sides of a call: the very same counts.
inline bool is_forbidden_alias(const Alltoallv& call) {
  return refuses_aliases && call.send.buffer == call.receive.buffer && call.send.type == call.receive.type &&
         call.send.counts.is_array_of(call.receive.counts);
}
inline bool is_forbidden_alias(const Alltoallw& call) {
  return refuses_aliases && call.send.buffer == call.receive.buffer && call.send.types == call.receive.types &&
         call.send.counts.is_array_of(call.receive.counts);
}

/// Calls the communicator's error handler and returns the code.
int report(MPI_Comm comm, int code);

/// Counts a call that was decided to be native.
void pass_on(Communicator& communicator, Entry& entry);

/// What was decided for a problem, or null: then the call is native and has been counted.
inline Entry* prepare(Communicator& communicator, const plan::Problem& problem) {
  Entry& entry = communicator.engine()->prepare(problem);
  if (entry.kind != Entry::Kind::native && communicator.engine()->supply(entry)) return &entry;
  pass_on(communicator, entry);
  return nullptr;
}
/// The same of a call that must not wait.
[[gnu::cold]] Entry* prepare_run(Communicator& communicator, const plan::Problem& problem);
/// Of either.
[[gnu::always_inline]] inline Entry* prepare(Communicator& communicator, const plan::Problem& problem,
                                             const Start* start) {
  return start == nullptr ? prepare(communicator, problem) : prepare_run(communicator, problem);
}

/// prepare(), and if the call is ours, does it, or begins it.
std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem, const Sides& sides,
                         Start* start);

/// What a neighbourhood collective of plain blocks, of so many bytes or uneven ones, comes to on this rank; null before
/// the communicator's first, and good until the next.
const plan::Problem* describe_along_edges(Communicator& communicator, plan::Operation operation, Bytes bytes,
                                          bool is_uneven);

/// A transport broke, or a wait was given up: the communicator is unusable from now on. Calls its error handler and
/// returns the code: the class that MPI has for it where a rank died or somebody revoked the communicator.
int fail(Communicator& communicator, MPI_Comm comm);

/// What a call would take or give does not fit what others do. MPI's error has no room for which call that was, so it
/// is said, once. `call`: as MPI calls it, and of what.
[[gnu::cold]] int fail_for_size(MPI_Comm comm, const std::string& call);

/// MPI's code of a call that has not ended as all calls should; nothing where native is to do it. `problem` is null of
/// calls that do not block.
[[gnu::cold]] std::optional<int> conclude(Communicator& communicator, MPI_Comm comm, const plan::Problem* problem,
                                          const execute::Ending& ending);

/// Runs what was prepared on plain bytes and returns MPI's code, if the call is ours after all.
inline std::optional<int> run(Communicator& communicator, MPI_Comm comm, Entry& entry, std::byte* input,
                              std::byte* output, const execute::Reducer* reducer = nullptr) {
  if (communicator.is_broken) return fail(communicator, comm);
  const execute::Ending ending = communicator.engine()->attempt(entry, input, output, reducer);
  if (ending.kind == execute::Ending::done) [[likely]]
    return MPI_SUCCESS;
  return conclude(communicator, comm, &entry.problem,
                  communicator.engine()->settle(entry, input, output, entry.problem.bytes, ending));
}

/// The same on what `staging` makes of the caller's data.
std::optional<int> run_staged(Communicator& communicator, MPI_Comm comm, Entry& entry, Staging& staging);

/// The same, or what `start` begins, by a staging of that kind. Out of line: the shortest calls are not staged, and pay
/// for every register that those who are save.
template <class Kind, class... Arguments>
[[gnu::noinline]] std::optional<int> carry_out(Communicator& communicator, MPI_Comm comm, Entry& entry, Start* start,
                                               const Arguments&... arguments) {
  const Start::When when = start == nullptr ? Start::When::now : start->when(communicator, entry);
  if (when == Start::When::later) {
    const Stage stage{communicator, entry.problem, start->memory()};
    start->take(communicator, entry, std::make_unique<Kind>(stage, arguments...));
    return MPI_SUCCESS;
  }
  Kind staging({communicator, entry.problem, communicator.packed()}, arguments...);
  return run_staged(communicator, comm, entry, staging);
}

}  // namespace espalier::mpi
