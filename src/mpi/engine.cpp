#include "mpi/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collectives/build.hpp"
#include "collectives/choose.hpp"
#include "collectives/registry.hpp"
#include "execute/tiny.hpp"
#include "verify/verify.hpp"

namespace espalier::mpi {
namespace {

// Messages carry their size as an int; half of its range leaves room for everything that a leader may send at once.
constexpr Bytes largest_result = Bytes{1} << 30;

bool is_tiny(const topology::Topology& topology, const plan::Problem& problem) {
  return topology.nodes() == 1 && plan::is_tiny(problem, topology.ranks());
}

bool is_nothing(const plan::Problem& problem) {
  return problem.operation != plan::Operation::barrier && problem.bytes == 0;
}

}  // namespace

Engine::Engine(Means means, const Policy& policy, CacheBudget& budget, Statistics& statistics)
    : means_(std::move(means)),
      policy_(policy),
      seat_(means_.board, LocalRank(means_.topology.local_rank(means_.me))),
      cache_(budget, statistics) {}

Entry& Engine::decide(const plan::Problem& problem) {
  Entry entry;
  entry.problem = problem;
  try {
    choose(entry);
  } catch (const Error& error) {  // building is pure, so this happens to all ranks alike
    entry.kind = Entry::Kind::native;
    entry.label = error.what();
    tell(std::string(plan::name(problem.operation)) + " of " + format_bytes(problem.bytes) +
         " stays native: " + entry.label);
  }
  return cache_.add(std::move(entry));
}

void Engine::choose(Entry& entry) const {
  const plan::Problem& problem = entry.problem;
  const auto& forced = policy_.forced[static_cast<std::size_t>(problem.operation)];
  if (is_nothing(problem)) {
    entry.label = "no bytes";
    return;
  }
  if (is_tiny(means_.topology, problem) && !forced) {
    entry.kind = Entry::Kind::tiny;
    entry.label = "tiny";
    return;
  }
  if (std::max(plan::input_bytes(problem, means_.topology.ranks(), problem.root),
               plan::output_bytes(problem, means_.topology.ranks(), problem.root)) > largest_result)
    throw Error("the result is larger than " + format_bytes(largest_result));
  const plan::Choice choice = forced ? *forced : collectives::choose(means_.topology, problem).choice;
  if (const std::string why = collectives::why_invalid(means_.topology, problem, choice); !why.empty())
    throw Error(why);
  if (policy_.verify) prove(problem, choice);
  entry.program = collectives::build_program(means_.topology, problem, choice, means_.me);
  entry.kind = Entry::Kind::program;
  entry.label = plan::to_string(choice);
}

// The whole plan, all ranks' programs, is proved by every rank: pure, so all come to the same end.
void Engine::prove(const plan::Problem& problem, const plan::Choice& choice) const {
  const auto violations = verify::verify(collectives::build_plan(means_.topology, problem, choice));
  if (violations.empty()) return;
  const std::string what = std::string("ESPALIER_VERIFY found a fault in ") + plan::name(problem.operation) + " by " +
                           plan::to_string(choice);
  tell(what + ": " + verify::to_string(violations.front()));
  throw Error(what);
}

void Engine::tell(const std::string& line) const {
  if (means_.me == Rank(0) && policy_.tell) policy_.tell(line);
}

bool Engine::run(Entry& entry, std::byte* input, std::byte* output) {
  ++entry.calls;
  switch (entry.kind) {
    case Entry::Kind::tiny: run_tiny(entry.problem, input, output); return true;
    case Entry::Kind::program: return run_program(entry.program, input, output);
    case Entry::Kind::nothing: return true;
    case Entry::Kind::native: break;  // counted; the caller passes it on
  }
  return true;
}

void Engine::run_tiny(const plan::Problem& problem, std::byte* input, std::byte* output) noexcept {
  execute::run_tiny(seat_, problem, input, output, nullptr, *means_.waiter);
}

bool Engine::run_program(const plan::Program& program, std::byte* input, std::byte* output) {
  const execute::Buffers buffers{input, output, scratch_.take(program.scratch_bytes)};
  if (means_.network) means_.network->reserve(program.slots);
  seat_.begin_call();
  const execute::Environment environment{&seat_, means_.network.get(), means_.single_copy.get()};
  const bool is_fine = execute::run_program(program, buffers, environment, *means_.waiter);
  scratch_.trim();
  return is_fine;
}

}  // namespace espalier::mpi
