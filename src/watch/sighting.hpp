#pragma once
// What shared memory shows of a job's ranks: who is where in which communicator's calls. Reads only, and asks nobody:
// from inside a rank that waits, or from outside a job that stands still.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "execute/unserved_page.hpp"
#include "execute/watch_line.hpp"
#include "plan/calls.hpp"
#include "transports/arena.hpp"

namespace espalier::watch {

/// One rank in one communicator, as its desk shows it, or in calls on communicators of one group that have no desks.
struct Sighting {
  std::uint32_t community = 0;  ///< of ranks of one communicator, which may sit at several (virtual) nodes' boards
  int pid = 0;
  int world_rank = 0;
  int rank = 0;
  int ranks = 0;
  std::uint64_t finished = 0;  ///< the last call that it is known to have come through
  // What it waits in, if it has waited for some milliseconds; call 0: in none.
  std::uint64_t call = 0;
  plan::Call what = {};          ///< that; bytes, root and number else of what is left to the MPI
  double seconds = 0;            ///< for how long
  execute::LeftToMpi left = {};  ///< what it does, or did last, that is left to the MPI
  double left_seconds = 0;       ///< for how long, as far as somebody has looked (watch/lookout.hpp)
  std::string host = {};         ///< where it was seen; empty: on this one
  // Without desks, who the members are is told with the call.
  std::uint32_t job = 0;                        ///< the community of MPI_COMM_WORLD; 0: it has a desk
  int place = 0;                                ///< where its process tells of it
  std::vector<execute::RankSpan> members = {};  ///< none: not known

  bool waits() const { return call > finished; }
  /// Its communicator's other ranks know that it is to come, and it has done nothing there.
  bool is_new() const { return finished == 0 && call == 0 && !is_in_mpi() && left.calls == 0; }
  bool is_unserved() const { return job != 0; }
  bool is_in_mpi() const { return left.doing != execute::LeftToMpi::Doing::nothing; }
  /// The call that is left to the MPI.
  plan::Call left_call() const {
    return {left.operation, left.blocks, plan::CallForm::blocking, what.root, what.bytes, what.number};
  }
  /// Ranks get memory for calls that do not block while they are anywhere.
  bool may_be_anywhere() const { return left.doing == execute::LeftToMpi::Doing::run_preparation; }
  bool is_of_all() const { return (community & 1) != 0; }
};

/// All ranks of all communicators whose boards lie in this arena; of several (virtual) nodes of the host, if they are.
/// Those that write meanwhile are seen before or after.
std::vector<Sighting> find_ranks(const transports::Arena& arena);

/// CLOCK_MONOTONIC in nanoseconds, in ticks of some milliseconds.
std::uint64_t read_coarse_clock() noexcept;
/// What WatchLine::since has of it.
inline std::uint32_t to_milliseconds(std::uint64_t nanoseconds) noexcept {
  return static_cast<std::uint32_t>(nanoseconds / 1'000'000);
}

}  // namespace espalier::watch
