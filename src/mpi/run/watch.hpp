#pragma once
// What a rank shows others of a call that it has long been waiting in, and of what it leaves to the MPI.

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "execute/board.hpp"
#include "plan/calls.hpp"

namespace espalier::mpi {

/// A call as its engine knows it.
struct Situation {
  std::uint64_t call = 0;    ///< as all ranks count, with exchanges and trials of ours
  std::uint64_t number = 0;  ///< as the program counts its calls
  plan::Operation operation = plan::Operation::barrier;
  Bytes bytes = 0;  ///< 0 also where no rank knows all sizes
  Rank root{};
  plan::CallForm form = plan::CallForm::blocking;
  plan::BlockSizes blocks = plan::BlockSizes::equal;  ///< also where counts are all equal
};

/// A call as the program made it, where its engine does something else for it: sizes are exchanged first.
struct CallName {
  plan::Operation operation;
  plan::BlockSizes blocks;
};
/// While this is, this thread's calls have that name for whoever looks at them. None: what the problem says.
class Naming {
 public:
  explicit Naming(std::optional<CallName> name) : before_(std::exchange(name_, name)) {}
  ~Naming() { name_ = before_; }
  Naming(const Naming&) = delete;
  Naming& operator=(const Naming&) = delete;

  static const std::optional<CallName>& name() { return name_; }

 private:
  const std::optional<CallName> before_;
  static thread_local constinit std::optional<CallName> name_;
};
/// The same call under its own name, if it has one.
inline Situation named(Situation at, const std::optional<CallName>& name = Naming::name()) {
  if (!name) return at;
  if (at.operation != name->operation) at.bytes = 0;
  at.operation = name->operation;
  at.blocks = name->blocks;
  return at;
}

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
  /// The same as look() of a call that does not block.
  void look(const Situation& at) noexcept;
  /// What others read of it.
  execute::WatchLine& line() const noexcept { return line_; }
  /// From now on, and no more: the communicator's ranks do that together, by the MPI.
  void begin_left(execute::LeftToMpi::Doing doing, const execute::LeftCall& call) noexcept;
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
  void show(const Situation& at) noexcept;

  Engine* engine_ = nullptr;
  const std::uint64_t* calls_ = nullptr;
  execute::WatchLine& line_;
  std::uint64_t call_ = 0;   ///< that was looked at last
  std::uint64_t since_ = 0;  ///< when it was first
  bool is_to_stay_ = false;
};

}  // namespace espalier::mpi
