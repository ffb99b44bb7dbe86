#pragma once
// One run of a nonblocking call: most have one, those that exchange sizes first have two.

#include <memory>
#include <optional>

#include "execute/waiting/now_and_then.hpp"
#include "mpi/calls/staging.hpp"
#include "mpi/run/engine_run.hpp"

namespace espalier::mpi {

class StartedRun {
 public:
  /// Of what the entry says, on what `staging` makes of the caller's data, which it fetches. Both outlive it.
  /// `made`: what others are told of it, its size aside.
  StartedRun(Communicator& communicator, MPI_Comm comm, Entry& entry, std::unique_ptr<Staging> staging,
             const plan::Call& made);

  /// The same run again, once it is over, for the program's next call.
  void start_again(Entry& entry) {
    ++made_.number;
    fetch(entry);
  }

  /// As far as it gets without waiting: nothing, or MPI's code once it is over; errors have been reported then. Begins
  /// when `is_next`: all calls of the communicator before this one are over.
  std::optional<int> advance(bool is_next) noexcept;
  /// In a thread that must not call MPI, and without being told of errors. True: it is over, and there is none.
  bool advance_aside(bool is_next) noexcept;
  /// Short messages are left where others find them when they begin, and are only fetched at the end. Others take a
  /// share of all ranks' time, on which the program should not wait.
  bool wants_help() const noexcept { return !is_in_memory_ || problem_.bytes >= least_helped; }

 private:
  static constexpr Bytes least_helped = Bytes{8} << 10;

  void fetch(Entry& entry);
  void begin();
  int end(execute::Ending ending);
  std::optional<int> go_on(bool is_next);
  bool is_hopeless() noexcept;

  Communicator& communicator_;
  MPI_Comm comm_;
  plan::Problem problem_;
  Entry::Kind kind_;                              ///< a program, lines, or nothing to do
  std::shared_ptr<const plan::Program> program_;  ///< null where that is not it
  std::unique_ptr<Staging> staging_;
  std::optional<int> code_;  ///< it failed before it began
  std::optional<EngineRun> run_;
  std::optional<execute::Ending> ended_;  ///< aside
  const bool is_in_memory_;               ///< it needs nothing of MPI until its end
  plan::Call made_;
  execute::NowAndThen now_and_then_;
};

}  // namespace espalier::mpi
