#pragma once
// Runs one rank's program. Flat, allocation free, and resumable: it stops at an unmet wait and goes on where it
// stopped.

#include <cstddef>
#include <optional>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/program.hpp"

namespace espalier::execute {

/// The caller's memory for one run. Input and output overlap as plan::alias_of says under MPI_IN_PLACE.
struct Buffers {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};

/// What a program may use; anything it does not need may be null. Outlives the run.
struct Environment {
  Seat* seat = nullptr;
  Network* network = nullptr;
  SingleCopy* single_copy = nullptr;
  const Reducer* reducer = nullptr;
  Meter* meter = nullptr;
  /// What the program's blocks are, for neighbours to compare (execute/statement.hpp); none: nobody does.
  std::optional<Bytes> stated = {};
  /// They are not the rank's own, but what it was told.
  bool vouches = false;
};

enum class Status {
  waiting,  ///< stopped at an unmet wait; call advance() again
  differs,  ///< `other()` does not do the same; call advance() again if that may change
  done,
  failed,  ///< the network or the system's single copy broke; the communicator can not be used any more
};

/// One run of one program in the seat's current call (seat->begin_call() comes first). The program must outlive it.
class Interpreter {
 public:
  Interpreter(const plan::Program& program, const Buffers& buffers, const Environment& environment) noexcept;

  /// Goes on until the end or the next unmet wait. No allocation, lock or system call but the transports' own.
  Status advance() noexcept;

  /// After advance() stopped at an unmet wait: what the neighbour rings whose flag is missing; null for messages, and
  /// where nobody sleeps.
  Bell* bell() const noexcept;

  /// Whom it waits for, if that is a neighbour; null where it waits for a message.
  std::optional<LocalRank> other() const noexcept;

  /// The step at which it stands: for reports about hung or failed runs.
  std::size_t position() const noexcept { return static_cast<std::size_t>(next_ - program_.steps.data()); }

 private:
  std::byte* address(plan::Buffer buffer, Bytes offset) const noexcept {
    return bases_[static_cast<int>(buffer)] + offset;
  }
  bool reach(const plan::Step& step) const noexcept;
  const std::byte* operand_of(const plan::Step& step) const noexcept;
  /// Combines `right` with the operand of this reduction and of those behind it that reduce onto the same bytes: all
  /// are one loop. Returns the last one.
  const plan::Step* combine(const plan::Step* first, const std::byte* right) const noexcept;
  /// Copies, unless the next step reduces onto the same bytes: then both steps are one loop over three vectors.
  void transfer(const plan::Step& step, std::byte* from, std::byte* into) noexcept;
  bool takes_over(const plan::Step& step) const noexcept;
  void take_over_if_asked(const plan::Step& step) const noexcept;
  enum class Outcome { next, wait, differs, broken };
  Outcome compare(LocalRank neighbour) const noexcept;
  Outcome compare_all() noexcept;
  Outcome execute(const plan::Step& step) noexcept;
  void post(const plan::Step& step) noexcept;

  const plan::Program& program_;
  Environment environment_;
  std::byte* bases_[4];
  const plan::Step* next_;
  std::optional<LocalRank> differing_;  ///< of all that an await_all is for
};

}  // namespace espalier::execute
