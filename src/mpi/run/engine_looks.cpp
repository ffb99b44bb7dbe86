// How an engine shows some of its calls to an onlooker, and lets the others pass.

#include <memory>
#include <utility>

#include "mpi/observe/clock.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/shown/onlooker.hpp"

namespace espalier::mpi {

void Engine::show_to(std::shared_ptr<Onlooker> onlooker) {
  stop_showing();
  onlooker_ = std::move(onlooker);
  if (onlooker_ != nullptr) cache_.forget_all();
}

void Engine::stop_showing() noexcept {
  cache_.stop_showing();
  onlooker_.reset();
  is_shown_ = false;
}

// Calls whose blocks have counts, or go along edges, are looked at by others, all of them.
bool Engine::is_to_be_shown(const Entry& entry) const {
  const plan::Problem& problem = entry.problem;
  return onlooker_ != nullptr && entry.kind != Entry::Kind::native && problem.counts.empty() &&
         !plan::has_edges(problem.operation);
}

// While somebody learns, native may do any of them, and there are few: all are looked at.
void Engine::show(Entry& entry) {
  Looks& looks = *entry.looks;
  looks.since += looks.granted - std::exchange(overlooks_, false);
  if (looks.since < looks.after && entry.lesson == nullptr) return;
  if (looks.since == 0) return;
  looks.after = looks.onlooker.look(entry.problem, seat_.call() + 1, std::exchange(looks.since, 0));
  is_timing_ = is_shown_ = true;
}

void Engine::overlook_slowly(const plan::Problem& problem) {
  Entry& entry = find(problem);
  if (entry.looks == nullptr) return;
  if (entry.until_open == 1)
    overlooks_ = true;
  else
    ++entry.until_open;
}

// That of the call at hand, if somebody looks at some of its calls.
Entry* Engine::entry_looked_at() noexcept {
  Entry* const entry = onlooker_ == nullptr || uneven_kind_ != nullptr ? nullptr : cache_.latest();
  return entry != nullptr && entry->looks != nullptr ? entry : nullptr;
}

void Engine::begin_long_wait() noexcept {
  if (entry_looked_at() == nullptr) return;
  waits_since_ = read_clock();
  onlooker_->begin_wait(seat_.call(), waits_since_);
}

void Engine::end_long_wait() noexcept {
  const std::uint64_t since = std::exchange(waits_since_, 0);
  const Entry* const entry = since == 0 ? nullptr : entry_looked_at();
  if (entry != nullptr) onlooker_->end_wait(entry->problem, seat_.call(), since, read_clock());
}

// The next that has to be opened.
void Engine::count_down(Entry& entry) {
  if (entry.looks != nullptr) {
    Looks& looks = *entry.looks;
    looks.granted = entry.is_open ? 1 : looks.after - looks.since;
    entry.until_open = looks.granted;
  } else {
    entry.until_open = entry.is_open ? 1 : Entry::never;
  }
}

}  // namespace espalier::mpi
