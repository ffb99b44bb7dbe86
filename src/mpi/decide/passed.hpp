#pragma once
// Calls that native does whatever they are, or again and again: told at the door, before anything of them is looked at.

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/calls/call_of.hpp"
#include "tune/dedicated.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// The calls of one kind on one communicator that native has done without a look at them.
class Passed {
 public:
  /// Nothing is known of calls before.
  void forget() { last_.count = no_call; }
  /// Native was selected for this call, as it then is for all like it. A type that is not predefined may be another one
  /// next time.
  template <class Call>
  void remember(const Call& call, int me) {
    const std::optional<Gist> gist = gist_of(call, me);
    if (gist && describe(gist->type).is_named) last_ = *gist;
  }
  template <class Call>
  bool is_like_last(const Call& call, int me) const {
    const std::optional<Gist> gist = gist_of(call, me);
    return gist && *gist == last_;
  }

  void count() { ++calls_; }
  std::uint64_t take_calls() { return std::exchange(calls_, 0); }

 private:
  static constexpr MPI_Count no_call = -1;

  std::uint64_t calls_ = 0;
  Gist last_{no_call, {}, 0, {}};
};

/// Of all kinds: those of an operation, and those of its form with a count for each rank, are selected together.
/// Nothing where native does none; else it grows by the kinds that are called.
class PassedKinds {
 public:
  /// From now on so many of each kind's calls are native's, by `natives_of(kind)`, and nothing is known of calls
  /// before.
  template <class NativesOf>
  void select(NativesOf natives_of) {
    for_each_kind([&](const plan::Call& kind) {
      const tune::Natives natives = natives_of(kind);
      if (natives == tune::Natives::none && kinds_ == nullptr) return;
      kinds().natives[index_of(kind)] = natives;
      if (Passed* const passed = find(index_of(kind))) passed->forget();
    });
  }

  /// Whether native does this one, too; then it has been counted. Where nothing is selected for native, that is all
  /// there is to it.
  template <class Call>
  bool takes(const Call& call, int me) {
    if (kinds_ == nullptr) return false;
    const std::size_t at = index_of(call_of(call));
    const tune::Natives natives = kinds_->natives[at];
    if (natives == tune::Natives::none) return false;
    Passed* const passed = find(at);
    if (natives == tune::Natives::some && (passed == nullptr || !passed->is_like_last(call, me))) return false;
    count(at);
    return true;
  }

  template <class Call>
  void remember(const Call& call, int me) {
    // As the calls themselves have taught. Where each rank knows its own counts only, one may take the next call to be
    // like this one, and another not: those are passed on by what was said before any was made, or not at all.
    const plan::Call kind = call_of(call);
    const bool is_known_to_all = !kind.has_counts() || !tune::hides_sizes(kind.operation);
    tune::Natives& natives = kinds().natives[index_of(kind)];
    if (natives == tune::Natives::none && is_known_to_all) natives = tune::Natives::some;
    if (natives == tune::Natives::some) add(index_of(kind)).remember(call, me);
  }
  void count(const plan::Call& kind) { count(index_of(kind)); }

  /// `each(kind, passed)` of those that may have passed any.
  template <class Each>
  void for_each(Each each) {
    if (kinds_ == nullptr) return;
    for_each_kind([&](const plan::Call& kind) {
      if (Passed* const passed = find(index_of(kind))) each(kind, *passed);
    });
  }

 private:
  static constexpr std::size_t count_of_kinds = 2 * plan::operation_count;
  struct Kinds {
    std::array<tune::Natives, count_of_kinds> natives{};
    std::array<std::uint8_t, count_of_kinds> places{};  ///< in `passed`, from 1 on; 0: not called yet
    std::vector<Passed> passed;
  };

  template <class Each>
  static void for_each_kind(Each each) {
    for (int i = 0; i < plan::operation_count; ++i)
      for (const auto blocks : {plan::BlockSizes::equal, plan::BlockSizes::counts})
        each(plan::Call{static_cast<plan::Operation>(i), blocks});
  }
  static std::size_t index_of(const plan::Call& kind) {
    return 2 * static_cast<std::size_t>(kind.operation) + kind.has_counts();
  }
  Kinds& kinds() {
    if (kinds_ == nullptr) kinds_ = std::make_unique<Kinds>();
    return *kinds_;
  }
  /// Null for what has not been called.
  Passed* find(std::size_t at) {
    const std::uint8_t place = kinds_->places[at];
    return place == 0 ? nullptr : &kinds_->passed[place - 1U];
  }
  [[gnu::noinline]] Passed& add(std::size_t at) {
    std::uint8_t& place = kinds().places[at];
    if (place == 0) {
      kinds_->passed.emplace_back();
      place = static_cast<std::uint8_t>(kinds_->passed.size());
    }
    return kinds_->passed[place - 1U];
  }
  void count(std::size_t at) {
    if (Passed* const known = kinds_ == nullptr ? nullptr : find(at)) return known->count();
    count_first(at);
  }
  // Without memory it is not counted.
  [[gnu::noinline, gnu::cold]] void count_first(std::size_t at) noexcept {
    try {
      add(at).count();
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  std::unique_ptr<Kinds> kinds_;
};

}  // namespace espalier::mpi
