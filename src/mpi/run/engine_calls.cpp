// How an engine runs its calls, and brings to an end those in which ranks' sizes do not fit together.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "choice/choose.hpp"
#include "execute/lines/tiny.hpp"
#include "mpi/run/dissent.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/engine_run.hpp"

namespace espalier::mpi {

[[gnu::always_inline]] inline execute::Ending Engine::perform(const Entry& entry, std::byte* input, std::byte* output,
                                                              const execute::Reducer* reducer) {
  switch (entry.kind) {
    case Entry::Kind::tiny: return execute::run_tiny(seat_, entry.problem, input, output, reducer, *means_.waiter);
    case Entry::Kind::program: return run_program(entry, {input, output}, reducer, true);
    case Entry::Kind::nothing: return {};
    case Entry::Kind::native: break;  // counted; the caller passes it on
  }
  return {};
}

execute::Ending Engine::attempt(Entry& entry, std::byte* input, std::byte* output, const execute::Reducer* reducer) {
  ++entry.calls;
  if (other_bytes_) [[unlikely]]
    return begin_other();
  return perform(entry, input, output, reducer);
}

execute::Ending Engine::begin_other() {
  seat_.begin_call();
  return {execute::Ending::other, *std::exchange(other_bytes_, std::nullopt)};
}

execute::Ending Engine::settle(const Entry& entry, std::byte* input, std::byte* output, Bytes room,
                               execute::Ending ending) {
  if (ending.kind == execute::Ending::other) ending = follow(entry.problem, ending.bytes, {input, output}, room);
  if (ending.kind == execute::Ending::broken) leave();
  return ending;
}

execute::Ending Engine::run_with_room(Entry& entry, std::byte* input, std::byte* output, Bytes room) {
  ++entry.calls;
  const execute::Ending ending =
      other_bytes_ ? begin_other()
                   : execute::run_tiny_with_room(seat_, entry.problem, input, output, *means_.waiter, room);
  return settle(entry, input, output, room, ending);
}

Engine::Outcome Engine::exchange(const plan::Problem& problem, std::byte* input, std::byte* output) {
  Entry& known = find(problem);
  Entry& entry = known.lesson == nullptr ? known : vary(known, known.lesson->study.contest.best());
  if (entry.kind == Entry::Kind::native || !supply(entry)) return Outcome::native;
  if (!std::exchange(other_bytes_, std::nullopt) && perform(entry, input, output, nullptr)) return Outcome::done;
  leave();
  return Outcome::broken;
}

bool Engine::perform_own(Entry& entry, std::byte* input, std::byte* output) {
  if (!supply(entry)) return false;
  if (!std::exchange(other_bytes_, std::nullopt) && perform(entry, input, output, nullptr)) return true;
  leave();
  return false;
}

execute::UnevenOutcome Engine::run_uneven_blocks(const execute::UnevenKind& kind, const execute::UnevenCall& call) {
  uneven_kind_ = &kind;
  uneven_call_ = &call;
  const auto outcome = execute::run_uneven_blocks(seat_, kind, call, means_.single_copy.get(), *means_.waiter);
  uneven_kind_ = nullptr;
  if (outcome == execute::UnevenOutcome::broken) leave();
  if (outcome != execute::UnevenOutcome::too_long) ++uneven_calls_[Decider::place_of(kind.operation)];
  return outcome;
}

execute::Ending Engine::run_program(const Entry& entry, const execute::Buffers& buffers,
                                    const execute::Reducer* reducer, bool may_follow) {
  EngineRun run(*this, entry.problem, *entry.program, buffers, reducer, may_follow);
  return run.finish();
}

void Engine::leave() noexcept {
  if (std::exchange(is_broken_, true)) return;
  seat_.leave();
  seat_.leave_windows(true);
  if (means_.network) means_.network->abandon();
}

// Whoever waits for this rank is not to, and who asks whether it is still in the call is told that it is not. Messages
// that are under way for this call have nowhere to go: with several nodes this was the communicator's last one.
execute::Ending Engine::leave_call() {
  seat_.state(execute::Statement::has_left);
  if (seat_.board()) seat_.post(plan::Flag::done, 1);
  if (means_.network != nullptr) leave();
  return {execute::Ending::truncated};
}

// The call again, as who sends does it.
execute::Ending Engine::follow(const plan::Problem& problem, Bytes bytes, const execute::Buffers& buffers, Bytes room) {
  using execute::Ending;
  seat_.repeat_call();
  Entry* const found = std::exchange(other_, nullptr);
  const bool gathers = problem.operation == plan::Operation::gather;
  const bool is_free = means_.network == nullptr || means_.network->withdraw();
  if (!(is_dealt(problem.operation) || gathers) || bytes > choice::largest_result || !is_free) {
    seat_.begin_call();
    return leave_call();
  }
  plan::Problem other = problem;
  other.bytes = bytes;
  const auto blocks = gathers ? static_cast<Bytes>(means_.topology.ranks()) : 1;
  std::vector<std::byte> staged(blocks * bytes), own(gathers ? bytes : 0);
  const Bytes taken = std::min(bytes, room);
  if (gathers && problem.bytes > 0) std::memcpy(own.data(), buffers.input, std::min(bytes, problem.bytes));
  Entry& entry = found != nullptr ? *found : find_other(other);
  if (entry.kind == Entry::Kind::native && means_.topology.nodes() == 1) {
    ++entry.calls;
    return {Ending::native};
  }
  const Ending ending = perform_other(entry, {own.data(), staged.data()});
  if (!ending) return ending;
  for (Bytes b = 0; b < blocks; ++b) std::memcpy(buffers.output + b * room, staged.data() + b * bytes, taken);
  return bytes > room ? Ending{Ending::truncated} : Ending{Ending::shorter, taken};
}

execute::Ending Engine::perform_other(Entry& entry, const execute::Buffers& buffers) {
  if (entry.kind == Entry::Kind::native || !supply(entry)) {
    seat_.begin_call();
    return leave_call();
  }
  if (entry.kind == Entry::Kind::program) return run_program(entry, buffers, nullptr, false);
  const execute::Ending ending = perform(entry, buffers.input, buffers.output, nullptr);
  if (ending.kind != execute::Ending::other) return ending;
  return leave_call();
}

}  // namespace espalier::mpi
