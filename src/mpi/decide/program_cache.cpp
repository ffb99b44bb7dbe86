#include "mpi/decide/program_cache.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace espalier::mpi {

Entry::Entry(Entry&&) noexcept = default;
Entry& Entry::operator=(Entry&&) noexcept = default;
Entry::~Entry() = default;

void Entry::stop_showing() noexcept {
  if (looks == nullptr) return;
  looks->onlooker.count(problem, looks->since + looks->granted - until_open);
  looks.reset();
  until_open = is_open ? 1 : never;
}

ProgramCache::~ProgramCache() { forget_all(); }

std::size_t ProgramCache::Hash::operator()(const plan::Problem& problem) const {
  // Sizes are often powers of two: a multiplier with bits everywhere (2^64 over the golden ratio) spreads them.
  constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15;
  const std::uint64_t rest = (static_cast<std::uint64_t>(problem.operation) << 32) | (problem.element << 16) |
                             static_cast<std::uint32_t>(problem.root.value);
  std::uint64_t hash = (problem.bytes + (rest << 20)) * spread;
  for (const Bytes count : problem.counts) hash = (hash ^ count) * spread;
  for (const plan::Edge& edge : problem.edges)
    hash = (hash ^ (edge.bytes + (edge.input_begin << 20) + (edge.output_begin << 40))) * spread;
  return std::hash<std::uint64_t>{}(hash);
}

Bytes ProgramCache::footprint(const Entry& entry) {
  const Bytes program = entry.program == nullptr ? 0 : entry.program->footprint();
  return sizeof(Entry) + program + entry.label.capacity() + entry.origin.capacity() +
         entry.problem.counts.capacity() * sizeof(Bytes) + entry.problem.edges.capacity() * sizeof(plan::Edge);
}

Entry* ProgramCache::find_older(const plan::Problem& problem) {
  const auto place = look_for(problem);
  if (place == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place);
  return &entries_.front();
}

ProgramCache::Entries::iterator ProgramCache::look_for(const plan::Problem& problem) {
  if (index_ == nullptr)
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& it) { return it.problem == problem; });
  const auto place = index_->find(problem);
  return place == index_->end() ? entries_.end() : *place;
}

void ProgramCache::index_latest() {
  if (index_ != nullptr) {
    index_->insert(entries_.begin());
  } else if (entries_.size() > few) {
    index_ = std::make_unique<Index>();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) index_->insert(entry);
  }
}

Entry& ProgramCache::add(Entry entry) {
  const Bytes need = footprint(entry);
  while (!entries_.empty() && budget_.used + need > budget_.limit) drop_oldest();
  entries_.push_front(std::move(entry));
  index_latest();
  budget_.used += need;
  return entries_.front();
}

void ProgramCache::report() {
  for (Entry& entry : entries_) report(entry);
}

void ProgramCache::report(Entry& entry) {
  if (entry.lesson != nullptr) report_variants(*entry.lesson);
  const std::uint64_t calls = std::exchange(entry.calls, 0);
  if (entry.kind == Entry::Kind::native)
    statistics_.add_native(entry.problem.operation, entry.label, calls);
  else
    statistics_.add_handled(entry.problem.operation, entry.label, calls, form_);
}

void ProgramCache::report_variants(Lesson& lesson) {
  for (const std::unique_ptr<Entry>& variant : lesson.variants)
    if (variant != nullptr) report(*variant);
}

// Variants are few and short-lived, and not counted against the budget; the one that stays is.
void ProgramCache::take_over(Entry& entry, std::size_t variant) {
  report(entry);
  entry.stop_showing();
  budget_.used -= footprint(entry);
  const std::unique_ptr<Lesson> lesson = std::move(entry.lesson);
  if (lesson->variants[variant] != nullptr) entry = std::move(*lesson->variants[variant]);
  entry.is_open = false;
  budget_.used += footprint(entry);
}

void ProgramCache::forget(plan::Operation operation) {
  forget_if([&](const Entry& entry) { return entry.problem.operation == operation; });
}

void ProgramCache::drop(Entries::iterator entry) {
  report(*entry);
  entry->stop_showing();
  budget_.used -= footprint(*entry);
  if (index_ != nullptr) index_->erase(index_->find(entry));
  entries_.erase(entry);
}

}  // namespace espalier::mpi
