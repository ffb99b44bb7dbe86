#include "mpi/run/shown/unserved_calls.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "mpi/setup/facts.hpp"

namespace espalier::mpi {
namespace {

using execute::LeftToMpi;
using execute::UnservedCall;
using execute::UnservedPage;

bool is_over(const UnservedCall& call) {
  return LeftToMpi::from_word(call.left.load(std::memory_order_relaxed)).doing == LeftToMpi::Doing::nothing;
}
bool is_of(const UnservedCall& call, std::uint32_t community) {
  return call.community.load(std::memory_order_relaxed) == community;
}

/// Each store is a release: whoever sees it, and looks at `left` again, sees that nothing is told now.
void write(UnservedCall& call, const Group& group) {
  constexpr auto release = std::memory_order_release;
  call.left.store(0, release);
  call.community.store(group.community, release);
  call.rank.store(group.rank, release);
  call.ranks.store(group.ranks, release);
  const bool fits = group.members.size() <= UnservedCall::most_spans;
  call.spans.store(fits ? static_cast<std::int32_t>(group.members.size()) : 0, release);
  for (std::size_t i = 0; fits && i < group.members.size(); ++i) {
    call.members[i].first.store(group.members[i].first, release);
    call.members[i].stride.store(group.members[i].stride, release);
    call.members[i].count.store(group.members[i].count, release);
  }
}

}  // namespace

void UnservedCalls::open(Owner owner) {
  const std::lock_guard lock(mutex_);
  if (owner_.arena == nullptr) owner_ = std::move(owner);
}

Group UnservedCalls::make_group(std::span<const int> members, std::int32_t rank) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t hash = hash_bytes(members.data(), members.size_bytes(), owner_.job);
  // The lowest bit is MPI_COMM_WORLD's, and 0 is none.
  const std::uint32_t community = (static_cast<std::uint32_t>(hash) & ~1U) | 2U;
  return {community, rank, static_cast<std::int32_t>(members.size()), execute::to_spans(members)};
}

UnservedCall* UnservedCalls::begin(const Group& group, LeftToMpi::Doing doing, const plan::Call& call) noexcept {
  try {
    return show(group, doing, call);
  } catch (const std::exception&) {  // out of memory
    return nullptr;
  }
}

UnservedCall* UnservedCalls::show(const Group& group, LeftToMpi::Doing doing, const plan::Call& call) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = calls_[group.community]++;  // as on the other ranks, whether there is a place or not
  UnservedPage* const page = find_page();
  UnservedCall* const place = page != nullptr ? find_place(*page, group) : nullptr;
  if (place == nullptr) return nullptr;
  if (!is_of(*place, group.community)) write(*place, group);
  place->tell(call, LeftToMpi::begin(before, doing, call));
  return place;
}

void UnservedCalls::end(UnservedCall& call) noexcept {
  call.left.store(LeftToMpi::end(call.left.load(std::memory_order_relaxed)), std::memory_order_release);
}

void UnservedCalls::take_back(UnservedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t word = call.left.load(std::memory_order_relaxed);
  const auto calls = calls_.find(call.community.load(std::memory_order_relaxed));
  if (calls != calls_.end()) --calls->second;
  call.left.store(LeftToMpi::end(word - 1), std::memory_order_release);
}

UnservedPage* UnservedCalls::find_page() {
  if (owner_.arena == nullptr || std::exchange(has_asked_, true)) return page_;
  const std::optional<Bytes> place = owner_.arena->allocate(sizeof(UnservedPage), 1);
  if (!place) return nullptr;
  page_ = reinterpret_cast<UnservedPage*>(owner_.arena->at(*place));
  page_->job = owner_.job;
  page_->pid = owner_.pid;
  page_->world_rank = owner_.world_rank;
  page_->mark.store(UnservedPage::written, std::memory_order_release);
  return page_;
}

// What a group's last call was is told as long as its place is not needed.
UnservedCall* UnservedCalls::find_place(UnservedPage& page, const Group& group) {
  for (UnservedCall& call : page.calls)
    if (is_of(call, group.community) && is_over(call)) return &call;
  for (int i = 0; i < UnservedPage::most_calls; ++i) {
    UnservedCall& call = page.calls[std::exchange(next_, (next_ + 1) % UnservedPage::most_calls)];
    if (is_over(call)) return &call;
  }
  return nullptr;
}

}  // namespace espalier::mpi
