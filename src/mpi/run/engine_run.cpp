#include "mpi/run/engine_run.hpp"

#include "execute/lines/tiny_counts.hpp"

namespace espalier::mpi {

EngineRun::EngineRun(Engine& engine, const plan::Problem& problem, const plan::Program& program,
                     const execute::Buffers& buffers, const execute::Reducer* reducer, bool may_follow)
    : engine_(engine),
      problem_(problem),
      dissent_(engine.seat_, engine.means_.network.get(), engine.means_.topology, engine.means_.me, problem,
               may_follow),
      run_(std::in_place_type<execute::Run>, program,
           execute::Buffers{buffers.input, buffers.output, engine.scratch_.take(program.scratch_bytes)},
           begin(program, reducer, may_follow), &dissent_) {}

EngineRun::EngineRun(Engine& engine, const plan::Problem& tiny, const execute::Buffers& buffers,
                     const execute::Reducer* reducer)
    : engine_(engine),
      problem_(tiny),
      dissent_(engine.seat_, nullptr, engine.means_.topology, engine.means_.me, tiny, false),
      run_(std::in_place_type<execute::TinyRun>, engine.seat_, tiny, buffers, reducer) {}

// What allocates comes first.
execute::Environment EngineRun::begin(const plan::Program& program, const execute::Reducer* reducer, bool may_follow) {
  Means& means = engine_.means_;
  execute::Seat& seat = engine_.seat_;
  if (means.network) {
    std::optional<execute::Statement> statement;
    if (is_one_sided(problem_)) statement.emplace(seat.call() + 1, problem_.bytes);
    means.network->reserve(program.slots);
    means.network->begin(statement);
  }
  seat.begin_call();
  if (means.meter) means.meter->begin(problem_);
  return {.seat = &seat,
          .network = means.network.get(),
          .single_copy = means.single_copy.get(),
          .reducer = reducer,
          .meter = means.meter.get(),
          .stated = execute::stated_bytes(problem_),
          .vouches = !may_follow};
}

std::optional<execute::Ending> EngineRun::advance() noexcept {
  const auto ending = std::visit([](auto& run) { return run.advance(); }, run_);
  if (ending) return end(*ending);
  if (engine_.means_.network) engine_.means_.network->progress();
  return std::nullopt;
}

execute::Ending EngineRun::finish() noexcept {
  return end(std::get_if<execute::Run>(&run_)->finish(*engine_.means_.waiter));
}

void EngineRun::show(const plan::Call& made) noexcept {
  Watch* const watch = engine_.means_.watch.get();
  if (watch != nullptr) watch->look(engine_.seat_.call(), with_size(made, problem_));
}

// What others call finished is what its flags say; a program that shares no memory with neighbours raises none.
execute::Ending EngineRun::end(execute::Ending ending) noexcept {
  engine_.scratch_.trim();
  if (engine_.means_.watch != nullptr) {
    engine_.means_.watch->leave();
    if (ending) engine_.seat_.finish_silently();
  }
  if (ending.kind == execute::Ending::broken) engine_.leave();
  return ending.kind == execute::Ending::truncated ? engine_.leave_call() : ending;
}

}  // namespace espalier::mpi
