#pragma once
// Why a communicator stands still, out of what its ranks show: who waits, who has not come, who came with something
// else. Pure.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "watch/front.hpp"
#include "watch/processes.hpp"
#include "watch/sighting.hpp"

namespace espalier::watch {

/// Where a rank stands, towards the call at which its communicator stands still.
enum class Stand {
  waits,         ///< in it
  differs,       ///< in it, but with another operation, root or size than most
  has_finished,  ///< it has come through already
  elsewhere,     ///< has not come, and waits in a call of another communicator, or in one that is left to the MPI
  not_come,      ///< has not come: it does something else
  unseen,        ///< on another host, which has not been asked, or has freed the communicator, if only by ending MPI
};

struct RankStand {
  int rank = 0;
  int world_rank = -1;  ///< -1: unseen
  int pid = 0;
  Stand stand = Stand::unseen;
  Life life = Life::running;
  bool has_begun = false;           ///< of `not_come`: it has begun the call, which does not block, and is elsewhere
  Sighting seen{};                  ///< of `waits` and `differs`, what it is in: that may be set-up
  std::optional<Sighting> other{};  ///< where `elsewhere`
};

/// One communicator in which some rank waits; or several of the same ranks, if they have no desks.
struct Standstill {
  std::uint32_t community = 0;
  int size = 0;
  bool is_unserved = false;                     ///< they have no desks
  std::vector<execute::RankSpan> members = {};  ///< then; none: not known
  Front front;                                  ///< the first call that is not over
  std::uint64_t number = 0;                     ///< of it, as the program counts its calls
  double seconds = 0;  ///< for how long the first of its ranks has waited, or longer where the MPI makes the call
  std::vector<RankStand> ranks;  ///< one for each thread, where several of a rank are in calls that may be this one
  std::string culprit;           ///< one sentence or two that name who is waited for, and what it does
};

/// Those in which a rank has waited for `least` seconds or longer; the longest first.
std::vector<Standstill> find_standstills(std::span<const Sighting> seen, const Lives& lives, double least);

/// "MPI_Bcast of 64 bytes, root 0, call 12", or with "nonblocking" and so on; or "MPI_Bcast, which is left to the MPI".
std::string describe_call(const Sighting& seen);
/// "MPI_COMM_WORLD (8 ranks)", "communicator 1f3a (4 ranks)" or "a communicator of ranks 0 to 2, 5 of MPI_COMM_WORLD".
std::string describe_community(const Standstill& standstill);
/// One line for each rank or run of ranks that do the same, and the culprit, all for a person.
std::string to_text(const Standstill& standstill);

}  // namespace espalier::watch
