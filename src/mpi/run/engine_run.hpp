#pragma once
// One call that an engine does in steps that wait for nobody: its number, its memory, and how it ends.

#include <optional>
#include <variant>

#include "execute/lines/tiny_run.hpp"
#include "execute/run.hpp"
#include "mpi/run/dissent.hpp"
#include "mpi/run/engine.hpp"

namespace espalier::mpi {

class EngineRun {
 public:
  /// Begins the engine's next call; the one before is over. All arguments outlive it. `buffers` as in Engine::run();
  /// scratch is the engine's. `may_follow`: a rank that has only room may take another size than its own
  /// (Engine::settle). Throws std::bad_alloc before anybody hears of the call.
  EngineRun(Engine& engine, const plan::Problem& problem, const plan::Program& program, const execute::Buffers& buffers,
            const execute::Reducer* reducer, bool may_follow);
  /// The same of one that takes the dedicated path of short messages, and has no counts.
  EngineRun(Engine& engine, const plan::Problem& tiny, const execute::Buffers& buffers,
            const execute::Reducer* reducer);
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;

  /// As far as it gets without waiting: nothing, or how it ended.
  std::optional<execute::Ending> advance() noexcept;
  /// By a program, to its end.
  execute::Ending finish() noexcept;
  /// It has not come far for a while: others may see that it is of the call that the program `made`.
  void show(const plan::Call& made) noexcept;
  /// Ends it before its end, because there is no hope that it comes to one.
  execute::Ending break_off() noexcept { return end({execute::Ending::broken}); }
  /// The same because ranks do not do the same: nobody waits for this one.
  execute::Ending leave() noexcept { return end({execute::Ending::truncated}); }

 private:
  execute::Environment begin(const plan::Program& program, const execute::Reducer* reducer, bool may_follow);
  execute::Ending end(execute::Ending ending) noexcept;

  Engine& engine_;
  const plan::Problem& problem_;
  Dissent dissent_;
  std::variant<execute::Run, execute::TinyRun> run_;
};

}  // namespace espalier::mpi
