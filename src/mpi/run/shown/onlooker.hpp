#pragma once
// Somebody who looks at some of an engine's blocking calls (ESPALIER_PROFILE).

#include <cstdint>

namespace espalier::plan {
struct Problem;
}

namespace espalier::mpi {

/// Calls that are not looked at cost nothing: their entries count down to the next that is. Which these are is a
/// function of the calls before, hence the same on all ranks.
class Onlooker {
 public:
  virtual ~Onlooker() = default;

  /// The call at hand, the communicator's `call`-th, is ours. It stands for `weight` calls of its problem: itself and
  /// those since the last one that was looked at. After how many more the next is to be; leave() comes when this one is
  /// over.
  virtual std::uint64_t look(const plan::Problem& problem, std::uint64_t call, std::uint64_t weight) noexcept = 0;
  /// It is over; `is_own`: native did not do it after all.
  virtual void leave(bool is_own) noexcept = 0;
  /// So many calls of the problem came after the last one that was looked at, and are not waited for any more.
  virtual void count(const plan::Problem& problem, std::uint64_t calls) noexcept = 0;

  /// This rank waits in such a call, looked at or not, for longer than most waits last: all of these are told, as they
  /// are too rare to be found by looking at some calls. `call`: the communicator's; times are of read_clock().
  virtual void begin_wait(std::uint64_t call, std::uint64_t now) noexcept = 0;
  virtual void end_wait(const plan::Problem& problem, std::uint64_t call, std::uint64_t since,
                        std::uint64_t now) noexcept = 0;
};

/// One entry's calls, as its onlooker counts them.
struct Looks {
  Onlooker& onlooker;
  std::uint64_t since = 0;    ///< calls since the last look that the entry has told of
  std::uint64_t after = 1;    ///< the next look is due at so many
  std::uint64_t granted = 1;  ///< what the entry counts down from
};

}  // namespace espalier::mpi
