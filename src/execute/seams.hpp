#pragma once
// The seams through which a running program touches the outside: network, neighbours' memory, arithmetic, waiting.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <optional>
#include <span>
#include <string>

#include "base/ids.hpp"
#include "execute/statement.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace espalier::execute {

/// Point-to-point messages of one communicator. Messages from one rank to another arrive in the order they were sent.
/// Implementations neither block nor throw.
class Network {
 public:
  virtual ~Network() = default;
  /// Makes slots 0 … count - 1 usable. Called before a program runs; may allocate.
  virtual void reserve(std::uint32_t slots) = 0;
  /// A program is about to run, with as many slots as were reserved; may allocate. `statement`, of operations where
  /// ranks may have sizes that do not fit together without noticing: the first message to each peer, its frame, carries
  /// it. None: nobody compares, and messages are payload only.
  virtual void begin([[maybe_unused]] std::optional<Statement> statement) {}
  /// False: the network is broken.
  virtual bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept = 0;
  virtual bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept = 0;
  /// `differs`: what came belongs to another program than this rank runs.
  enum class Progress { pending, complete, differs, broken };
  virtual Progress test(std::uint32_t slot) noexcept = 0;
  /// When a message differs, or is missing for long: the bytes that its sender, or whoever else has sent something,
  /// states instead of this rank's; Statement::has_left where a rank has left the communicator. Nothing where all seem
  /// to do the same.
  virtual std::optional<Bytes> find_other() noexcept { return std::nullopt; }
  /// Whether a frame of this run has come that states what this rank does.
  virtual bool has_agreed() const noexcept { return false; }
  /// Ends a run before its end: nothing touches the caller's memory any more, and what has come is kept for the run
  /// that follows. False: some of it is lost, and none can follow.
  virtual bool withdraw() noexcept { return false; }
  /// After a run that was broken off: its messages are over, and none touches the caller's memory any more. Does
  /// nothing where the job does not outlive such a run.
  virtual void abandon() noexcept {}
  /// After `broken`, or a start that was false: what its carrier said of it, for a person; empty: nothing.
  virtual std::string why_broken() const { return {}; }
  /// Works on all messages under way. To be called now and then by a rank that waits for something else, like a
  /// neighbour's flag: its peers may need it. Does nothing where Waiter::pause() sees to that.
  virtual void progress() noexcept {}
};

/// Direct copies between the private memories of node neighbours.
class SingleCopy {
 public:
  virtual ~SingleCopy() = default;
  /// False: the system refused.
  virtual bool read(LocalRank owner, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept = 0;
  virtual bool write(LocalRank owner, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept = 0;
};

/// The operation of a reduction, bound to its data type for one call.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// Whether it calls nothing of MPI or the program, so that any thread may.
  virtual bool is_own() const noexcept { return false; }
  /// into[i] = left[i] o into[i] for `bytes` of whole elements; the operands do not overlap. Must not fail: what could
  /// go wrong has been looked at before data moved.
  virtual void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept = 0;
  /// into[i] = left[i] o right[i]; `into` is no part of `left`, and either `right` itself or no part of it.
  virtual void combine_into(const std::byte* left, const std::byte* right, std::byte* into,
                            Bytes bytes) const noexcept {
    if (into != right) std::memcpy(into, right, bytes);
    combine(left, into, bytes);
  }
  /// The same with one left operand after the other: into[i] = left[n - 1][i] o ( … o (left[0][i] o right[i])).
  virtual void combine_several(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                               Bytes bytes) const noexcept {
    for (const std::byte* const operand : left) {
      combine_into(operand, right, into, bytes);
      right = into;
    }
  }
};

class Bell;

/// What to do while a step is not ready. The one place that decides between spinning, yielding, sleeping and poking
/// MPI.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Called after each look that found the step not ready; the caller then looks again. `attempt` counts from 0 for
  /// each wait. `bell` is that of the neighbour whose flag the look missed: it rings after it is raised. Null where
  /// nobody rings: a message of the network is awaited, or no rank of the communicator ever sleeps. True: this rank has
  /// slept, beside which any question is cheap.
  virtual bool pause(std::uint32_t attempt, Bell* bell) noexcept = 0;

  /// As pause(), and asks now and then whether what is awaited may still come. False: the run is to be broken off.
  /// `attempt` goes on by one; by a sleep to where the caller's own questions are due, too.
  bool wait(std::uint32_t& attempt, Bell* bell) noexcept {
    const bool has_slept = pause(attempt, bell);
    const bool is_first = attempt <= first_question;
    const bool asks = has_slept || attempt % looks_per_question == first_question;
    ++attempt;
    if (has_slept) attempt |= looks_per_dear_question - 1;
    return !asks || has_hope(is_first);
  }
  /// Whether it is time, after so many looks in vain, to see if others do something else: now and then, for that takes
  /// their cache lines away or asks the MPI; and after each sleep.
  static constexpr bool is_question_due(std::uint32_t attempt) noexcept {
    return attempt % looks_per_dear_question == looks_per_dear_question - 1;
  }
  /// The step is ready, after so many calls of wait() for it.
  void end(std::uint32_t attempts) noexcept {
    if (attempts > first_question) end_long();
  }

 protected:
  static constexpr std::uint32_t looks_per_question = 64, looks_per_dear_question = 256;
  static constexpr std::uint32_t first_question = looks_per_question - 1;
  /// `is_first`: of this wait.
  virtual bool has_hope([[maybe_unused]] bool is_first) noexcept { return true; }
  /// A wait is over in which it was asked.
  virtual void end_long() noexcept {}
};

/// Thrown where a wait was given up. What is short has no room for a status at every step, and needs none: nothing of a
/// call may be done after it.
struct GivenUp {};

class Seat;

/// Where time is simulated, work does not take any by itself: this lets it pass. Null where time is real.
class Meter {
 public:
  virtual ~Meter() = default;
  /// The program about to run is for this problem.
  virtual void begin(const plan::Problem& problem) = 0;
  /// Returns when the time is over that `rest.front()` keeps a processor busy, of what is left of the program.
  virtual void spend(std::span<const plan::Step> rest) noexcept = 0;
  /// Raises the flag, as Seat::post does, once neighbours may see it. Returns at once.
  virtual void post(Seat& seat, plan::Flag flag, std::uint64_t tick) noexcept = 0;
};

}  // namespace espalier::execute
