#pragma once
// What a rank shows others of a call that it has long been waiting in, and of what it leaves to the MPI.

#include <atomic>
#include <cstdint>
#include <utility>

#include "execute/board.hpp"
#include "plan/calls.hpp"

namespace espalier::mpi {

/// What the program made, with the size of the problem that its engine is at. That is of another operation while sizes
/// are exchanged, and then tells none.
inline plan::Call with_size(plan::Call made, const plan::Problem& problem) {
  if (made.operation == problem.operation) made.bytes = plan::call_of(problem).bytes;
  return made;
}

/// While this is, a blocking call of this thread's is told as that one, which outlives it: its engine does something
/// else for it, or sees less of it. Null: as its problem says.
class ToldAs {
 public:
  explicit ToldAs(const plan::Call* made) : before_(std::exchange(made_, made)) {}
  ~ToldAs() { made_ = before_; }
  ToldAs(const ToldAs&) = delete;
  ToldAs& operator=(const ToldAs&) = delete;

  static const plan::Call* made() { return made_; }
  static plan::Call told(const plan::Problem& problem) {
    return made_ == nullptr ? plan::call_of(problem) : with_size(*made_, problem);
  }
  /// Of calls with counts that no rank knows all of, which have no problem.
  static plan::Call told_uneven(plan::Operation operation, int root) {
    return made_ == nullptr ? plan::Call{operation, plan::BlockSizes::counts, plan::CallForm::blocking, root} : *made_;
  }

 private:
  const plan::Call* const before_;
  static thread_local constinit const plan::Call* made_;
};

/// Who a rank is, for others to read.
struct Identity {
  std::uint32_t community = 0;
  std::int32_t pid = 0;
  std::int32_t world_rank = -1;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
};

class Engine;

/// One rank's in one communicator. Waits are shown on their own time: a call that does not wait knows nothing of it
/// (docs/adr/0028). What is left to the MPI is one store before, and one after (docs/adr/0039).
class Watch {
 public:
  /// `board` outlives it.
  Watch(const execute::Board& board, LocalRank me, const Identity& identity);
  /// Whoever makes a board shows who will sit there: then those that do not come are seen, too.
  static void introduce(const execute::Board& board, LocalRank rank, const Identity& identity);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Whose blocking calls look() is about. It outlives the watch.
  void follow(Engine& engine) { engine_ = &engine; }
  /// Where the program's calls are counted; it outlives the watch.
  void count_by(const std::uint64_t& calls) { calls_ = &calls; }
  /// While waiting, every few dozen looks: shows the call from its fifth millisecond on.
  void look() noexcept;
  /// Such a call has waited for dozens of looks, and is through.
  void begin_long_wait() noexcept;
  void end_long_wait() noexcept;
  /// The same as look() of a call that does not block, the ranks' `call`-th.
  void look(std::uint64_t call, const plan::Call& what) noexcept;
  /// What others read of it.
  execute::WatchLine& line() const noexcept { return line_; }
  /// From now on, and no more: the communicator's ranks do that together, by the MPI.
  void begin_left(execute::LeftToMpi::Doing doing, plan::Call call = {}) noexcept;
  void end_left() noexcept;
  /// Whether it is MPI_COMM_WORLD's.
  bool is_of_all() const noexcept { return (line_.community & 1) != 0; }
  /// From now on the line stays, whatever becomes of the communicator: MPI_Finalize has been called.
  void stay() noexcept { is_to_stay_ = true; }
  /// A call is over that may not have said so in shared memory.
  void leave() noexcept {
    if (line_.call.load(std::memory_order_relaxed) != 0) line_.call.store(0, std::memory_order_relaxed);
  }

 private:
  std::uint64_t count() const noexcept { return calls_ != nullptr ? *calls_ : 0; }

  Engine* engine_ = nullptr;
  const std::uint64_t* calls_ = nullptr;
  execute::WatchLine& line_;
  std::uint64_t call_ = 0;   ///< that was looked at last
  std::uint64_t since_ = 0;  ///< when it was first
  bool is_to_stay_ = false;
};

}  // namespace espalier::mpi
