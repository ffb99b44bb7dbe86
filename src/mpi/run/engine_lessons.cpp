// How an engine learns: calls that are tried by one contender after the other, and what ranks tell each other of it.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/run/dissent.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/hearing.hpp"

namespace espalier::mpi {
namespace {

std::int64_t read_nanoseconds() noexcept { return static_cast<std::int64_t>(read_clock()); }

}  // namespace

// What it depends on is the same on all ranks: calls before this one, and the size that senders name. Who only has room
// may take that to be another one, which MPI forbids and libraries let pass: on one node it hears the size first.
Entry& Engine::prepare_openly(Entry& entry) {
  if (entry.looks != nullptr) show(entry);
  count_down(entry);
  if (!entry.is_open) return entry;
  if (learner_ == nullptr || !learner_->doubts(entry.problem.operation)) return prepare_trusted(entry);
  const plan::Problem problem = entry.problem;
  witness(problem);
  return prepare_trusted(find(problem));
}

// Whether a call like this has to be looked at each time it is made. Who tunes a table knows the programs it is for,
// and its measurements are of native alone: its rows are followed without a word.
void Engine::open(Entry& entry) {
  const bool is_by_size = entry.is_passed_on && entry.is_learned &&
                          decider_.natives_of(entry.problem.operation, false) != tune::Natives::all;
  const bool is_doubtful = learner_ != nullptr && learner_->doubts(entry.problem.operation);
  entry.hears_first =
      (entry.lesson != nullptr || is_by_size) && means_.topology.nodes() == 1 && is_one_sided(entry.problem);
  entry.is_open = entry.lesson != nullptr || entry.hears_first || is_doubtful;
  if (entry.is_open || entry.is_followed) entry.is_passed_on = false;  // whose calls are counted
  if (is_to_be_shown(entry)) entry.looks.reset(new Looks{*onlooker_});
  count_down(entry);
}

// Hearing is a call of its own where senders take part in it, as they do where theirs is open, too.
Entry& Engine::prepare_heard(Entry& entry) {
  const bool is_root = means_.me == entry.problem.root;
  const std::optional<Bytes> theirs = hear_senders(seat_, *means_.waiter, entry.problem, is_root, false);
  if (!theirs) {
    end_hearing(seat_);
    return turn_of(entry);
  }
  const plan::Problem mine = entry.problem;
  if (*theirs == execute::Statement::has_left) return carry(mine, *theirs, nullptr);
  plan::Problem problem = mine;
  problem.bytes = *theirs;
  Entry& other = find_other(problem);
  return other.kind == Entry::Kind::native ? other : carry(mine, *theirs, &other);
}

// What a call is whose size turned out to be another.
Entry& Engine::find_other(const plan::Problem& other) {
  Entry& entry = find(other);
  if (entry.hears_first) end_hearing(seat_);
  return turn_of(entry);
}

// The caller's own buffers are as its own size says: in the place of the call that is to be done stands another.
Entry& Engine::carry(const plan::Problem& mine, Bytes theirs, Entry* other) {
  other_bytes_ = theirs;
  other_ = other;
  if (carrier_ == nullptr) carrier_ = std::make_unique<Entry>();
  carrier_->problem = mine;
  return *carrier_;
}

// Where sizes have been the same so often, something is tried; on several nodes it has to be trusted from then on.
void Engine::witness(const plan::Problem& problem) {
  if (!problem.counts.empty()) return;
  std::optional<std::uint64_t> mine = learner_->witness(problem.operation, problem.bytes);
  if (!mine) return;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(means_.topology.ranks()));
  const bool is_told =
      gather_own(reinterpret_cast<std::byte*>(&*mine), sizeof *mine, reinterpret_cast<std::byte*>(all.data()));
  learner_->settle_doubts(problem.operation, is_told && std::count(all.begin(), all.end(), *mine) == std::ssize(all));
  cache_.forget(problem.operation);  // for it has no lessons
}

void Engine::begin_lesson(Entry& entry) {
  if (!learner_->may_learn(entry.problem.operation) || !decider_.may_learn(entry)) return;
  Study* const study = learner_->find(entry.problem);
  const bool is_finding = decider_.find_finding(entry.problem) != nullptr;
  entry.is_followed = study == nullptr && (entry.is_doubted || (is_finding && learner_->may_check()));
  if (entry.is_followed || (study == nullptr && is_finding)) return;
  entry.lesson.reset(new Lesson{study != nullptr ? *study : learner_->begin(entry.problem)});
}

// So many calls were made on all ranks alike.
void Engine::look_at_lessons() {
  const std::uint64_t check_after = decider_.policy().learning.check_after;
  if (learner_ == nullptr) return;
  since_check_ += looks_after_;
  looks_after_ = until_look_ = std::min(check_after, learner_->until_look());
  wake_followed();
  if (since_check_ < check_after) return;
  since_check_ = 0;
  check_lessons();
}

// What too few jobs have found is contested as soon as that costs no more than the budget, where all ranks have made as
// many calls. What enough have found is timed: they may all have run on a busy machine.
void Engine::wake_followed() {
  std::vector<Followed> followed;
  cache_.for_each([&](const Entry& it) {
    if (it.is_followed) followed.push_back({&it.problem, it.calls, it.is_doubted});
  });
  const std::vector<plan::Problem> woken = learner_->find_earners(followed);
  std::string said;
  for (const plan::Problem& it : woken)
    said += std::string(plan::name(it.operation)) + (it.counts.empty() ? " " : "v ") +
            std::to_string(sizes_like(it.bytes).last) + (it.depends_on_order ? " in order\n" : "\n");
  std::uint64_t mine = hash_text(said);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(means_.topology.ranks()));
  const bool is_told =
      gather_own(reinterpret_cast<std::byte*>(&mine), sizeof mine, reinterpret_cast<std::byte*>(all.data()));
  if (!is_told || std::count(all.begin(), all.end(), mine) != std::ssize(all)) return;
  for (const plan::Problem& it : woken) {
    const tune::Row* const finding = decider_.find_finding(it);
    learn::Contest& contest = learner_->begin(it).contest;
    if (finding != nullptr && contest.calls() == 0) contest.expect(finding->measured.chosen_us);
  }
  cache_.forget_if([&](const Entry& it) { return it.is_followed && learner_->find(it.problem) != nullptr; });
}

void Engine::check_lessons() {
  learner_->check_again();
  if (passed_ != nullptr)
    for (Passed& passed : *passed_) passed.deal.reset();
  cache_.forget_all();
}

// The call at hand, as the contender does it whose turn it is.
Entry& Engine::take_turn(Entry& entry) {
  Study& study = entry.lesson->study;
  if (study.contest.wants_contenders()) {
    if (learner_->meets()) {
      const plan::Problem problem = entry.problem;
      meet();
      return turn_of(find(problem));
    }
    Learner::admit(study, decider_.derive_contenders(entry));
  }
  if (study.contest.is_settled()) return end_lesson(entry);
  if (study.contest.is_due()) {
    const plan::Problem problem = entry.problem;
    agree(study);
    return turn_of(find(problem));
  }
  const learn::Turn turn = study.contest.next();
  Entry& variant = vary(entry, turn.contender);
  is_timing_ = is_shown_ || turn.is_timed;
  if (turn.is_timed) learner_->start(study, read_nanoseconds());
  return variant;
}

// From now on it is what the best makes of it.
Entry& Engine::end_lesson(Entry& entry) {
  Study& study = entry.lesson->study;
  const int best = study.contest.best();
  vary(entry, best);
  cache_.take_over(entry, static_cast<std::size_t>(best));
  entry.is_passed_on = entry.kind == Entry::Kind::native;
  entry.is_learned = true;
  open(entry);
  if (means_.experience == nullptr || !is_for_others(study) || std::exchange(study.is_told, true)) return entry;
  const std::optional<tune::Row> row = derive_row(study, means_.topology, means_.transport);
  if (row) means_.experience->add({&*row, 1});
  return entry;
}

// The usual one is the entry itself.
Entry& Engine::vary(Entry& entry, int contender) {
  const auto index = static_cast<std::size_t>(contender);
  Lesson& lesson = *entry.lesson;
  if (lesson.variants.size() <= index) lesson.variants.resize(index + 1);
  std::unique_ptr<Entry>& variant = lesson.variants[index];
  if (index == 0) return entry;
  if (variant != nullptr) return *variant;
  variant = std::make_unique<Entry>(entry.problem);
  try {
    decider_.choose_by(lesson.study.contenders[index], *variant);
  } catch (const Error& error) {  // building is pure, so this happens to all ranks alike
    variant->kind = Entry::Kind::native;
    variant->label = error.what();
  }
  return *variant;
}

// Before the first contest of a communicator its ranks tell each other what they know from others, which counts where
// it is the same; and what may be spent.
void Engine::meet() {
  struct Meeting {
    std::uint64_t known;
    double offer_us;
  };
  constexpr double alone_us = 100'000;
  Experience* const experience = means_.experience;
  std::vector<tune::Row> rows;
  if (experience != nullptr) rows = experience->rows_about(means_.topology, means_.transport);
  Meeting mine{hash_selections(rows), experience == nullptr ? alone_us : experience->offer_us()};
  std::vector<Meeting> all(static_cast<std::size_t>(means_.topology.ranks()), mine);
  if (!gather_own(reinterpret_cast<std::byte*>(&mine), sizeof mine, reinterpret_cast<std::byte*>(all.data()))) return;
  double least = mine.offer_us;
  for (const Meeting& it : all) least = std::min(least, it.offer_us);
  learner_->purse().lend(least);
  if (experience != nullptr) experience->lend(least);
  const bool are_alike = std::all_of(all.begin(), all.end(), [&](const Meeting& it) { return it.known == mine.known; });
  if (rows.empty() || !are_alike) return;
  decider_.inherit(std::move(rows));
  cache_.forget_all();
}

void Engine::agree(Study& study) {
  const std::span<const learn::Sample> mine = study.contest.samples();
  std::vector<learn::Sample> own(mine.begin(), mine.end());
  std::vector<learn::Sample> all(static_cast<std::size_t>(means_.topology.ranks()) * own.size());
  const bool is_told = gather_own(reinterpret_cast<std::byte*>(own.data()), own.size() * sizeof(learn::Sample),
                                  reinterpret_cast<std::byte*>(all.data()));
  if (!is_told) return study.contest.settle();
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
  std::vector<tune::Row> rows;
  if (learner_ == nullptr) return rows;
  learner_->for_each([&](const Study& study) {
    if (!is_for_others(study)) return;
    if (std::optional<tune::Row> row = derive_row(study, means_.topology, means_.transport))
      rows.push_back(std::move(*row));
  });
  return rows;
}

std::optional<tune::Measured> Engine::find_measured(const plan::Problem& problem) const {
  const Study* const study = learner_ == nullptr ? nullptr : std::as_const(*learner_).find(problem);
  if (study != nullptr) {
    const std::optional<tune::Row> row = derive_row(*study, means_.topology, means_.transport);
    return row ? std::optional(row->measured) : std::nullopt;
  }
  const tune::Row* const row = decider_.find_followed(problem);
  return row != nullptr ? std::optional(row->measured) : std::nullopt;
}

void Engine::stop_timing(bool is_own) noexcept {
  is_timing_ = false;
  if (learner_ != nullptr && learner_->is_timing()) learner_->stop(read_nanoseconds());
  if (std::exchange(is_shown_, false)) onlooker_->leave(is_own);
}

}  // namespace espalier::mpi
