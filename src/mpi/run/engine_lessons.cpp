// How an engine learns: calls that are tried by one contender after the other, and what ranks tell each other of it.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/run/engine.hpp"

namespace espalier::mpi {
namespace {

std::int64_t read_nanoseconds() noexcept { return static_cast<std::int64_t>(read_clock()); }

}  // namespace

// Ranks that only have room may take a call to be of another size, which MPI forbids and libraries let pass. Whose turn
// it is must not depend on that.
void Engine::witness(const plan::Problem& problem) {
  if (!problem.counts.empty()) return;
  std::optional<std::uint64_t> mine = learner_->witness(problem.operation, problem.bytes);
  if (!mine) return;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(means_.topology.ranks()));
  const bool is_told =
      gather_own(reinterpret_cast<std::byte*>(&*mine), sizeof *mine, reinterpret_cast<std::byte*>(all.data()));
  learner_->settle_doubts(problem.operation, is_told && std::count(all.begin(), all.end(), *mine) == std::ssize(all));
  cache_.forget(problem.operation);  // which has no lessons
}

void Engine::begin_lesson(Entry& entry) {
  if (!learner_->may_learn(entry.problem.operation)) return;
  Study* study = learner_->find(entry.problem);
  if (study == nullptr) {
    std::vector<Selection> contenders = decider_.derive_contenders(entry);
    if (contenders.size() < 2) return;
    study = &learner_->begin(entry.problem, std::move(contenders));
  } else if (!entry.origin.empty() || entry.kind == Entry::Kind::native) {
    return;  // others of its kind are learned about; how this one is done has been said, or it cannot be ours
  }
  const std::size_t contenders = study->contenders.size();
  entry.lesson = std::unique_ptr<Lesson>(new Lesson{*study, {}});
  entry.lesson->variants.resize(contenders);
}

// The call at hand, as the contender does it whose turn it is.
Entry& Engine::take_turn(Entry& entry) {
  Study& study = entry.lesson->study;
  const bool needs_origin = !study.has_begun && means_.topology.nodes() > 1;
  if (needs_origin || study.contest.is_due()) {
    const plan::Problem problem = entry.problem;
    agree(study);
    Entry& again = find(problem);
    return again.lesson == nullptr ? again : take_turn(again);
  }
  if (study.contest.is_settled()) {
    const int best = study.contest.best();
    vary(entry, best);
    cache_.take_over(entry, static_cast<std::size_t>(best));
    return entry;
  }
  const learn::Turn turn = study.contest.next();
  Entry& variant = vary(entry, turn.contender);
  if (turn.is_timed) learner_->start(study, read_nanoseconds());
  return variant;
}

Entry& Engine::vary(Entry& entry, int contender) {
  const auto index = static_cast<std::size_t>(contender);
  std::unique_ptr<Entry>& variant = entry.lesson->variants[index];
  if (variant != nullptr) return *variant;
  variant = std::make_unique<Entry>(entry.problem);
  try {
    decider_.choose_by(entry.lesson->study.contenders[index], *variant);
  } catch (const Error& error) {  // building is pure, so this happens to all ranks alike
    variant->kind = Entry::Kind::native;
    variant->label = error.what();
  }
  return *variant;
}

void Engine::agree(Study& study) {
  const bool is_first = !std::exchange(study.has_begun, true);
  const std::span<const learn::Sample> mine = study.contest.samples();
  std::vector<learn::Sample> all(static_cast<std::size_t>(means_.topology.ranks()) *
                                 std::max<std::size_t>(mine.size(), 1));
  std::vector<learn::Sample> own(mine.begin(), mine.end());
  own.resize(std::max<std::size_t>(own.size(), 1));
  const bool is_told = gather_own(reinterpret_cast<std::byte*>(own.data()), own.size() * sizeof(learn::Sample),
                                  reinterpret_cast<std::byte*>(all.data()));
  // Between nodes clocks differ; ranks come out of an exchange at nearly the same time.
  if (means_.topology.nodes() > 1) study.origin = read_nanoseconds();
  if (!is_told) return study.contest.settle();
  if (!is_first || means_.topology.nodes() == 1)
    study.contest.agree(learn::derive_times(all, own.size()), learner_->purse());
}

// An allgather of our own, of `bytes` of each rank, however the program's are done. False, on all ranks alike: it
// cannot be had.
bool Engine::gather_own(std::byte* mine, Bytes bytes, std::byte* all) {
  if (own_ == nullptr) own_ = std::make_unique<ProgramCache>(budget_, statistics_);
  const plan::Problem problem{plan::Operation::allgather, bytes};
  Entry* entry = own_->find(problem);
  if (entry == nullptr) {
    Entry made(problem);
    try {
      decider_.choose_built_in(made);
    } catch (const Error&) {
      return false;
    }
    entry = &own_->add(std::move(made));
  }
  return perform_own(*entry, mine, all);
}

std::vector<tune::Row> Engine::derive_learned() const {
  if (learner_ == nullptr) return {};
  return derive_rows(*learner_, means_.topology, means_.transport);
}

void Engine::stop_timing() noexcept { learner_->stop(read_nanoseconds()); }

}  // namespace espalier::mpi
