#pragma once
// Calls that native does whatever they are, or again and again: told at the door, before anything of them is looked at.

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/buffers/datatype.hpp"
#include "mpi/calls/calls.hpp"
#include "plan/calls.hpp"
#include "tune/dedicated.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// Calls that are selected together: those of an operation, or of its form with a count for each rank.
struct Form {
  plan::Operation operation;
  bool has_counts = false;
  bool has_types = false;  ///< and types: no difference to who makes them

  plan::BlockSizes block_sizes() const {
    return has_types ? plan::BlockSizes::types : has_counts ? plan::BlockSizes::counts : plan::BlockSizes::equal;
  }
};

inline Form form_of(const Broadcast&) { return {plan::Operation::broadcast}; }
inline Form form_of(const Scatter&) { return {plan::Operation::scatter}; }
inline Form form_of(const Scatterv&) { return {plan::Operation::scatter, true}; }
inline Form form_of(const Gather&) { return {plan::Operation::gather}; }
inline Form form_of(const Gatherv&) { return {plan::Operation::gather, true}; }
inline Form form_of(const Allgather&) { return {plan::Operation::allgather}; }
inline Form form_of(const Allgatherv&) { return {plan::Operation::allgather, true}; }
inline Form form_of(const Alltoall&) { return {plan::Operation::alltoall}; }
inline Form form_of(const Alltoallv&) { return {plan::Operation::alltoall, true}; }
inline Form form_of(const Alltoallw&) { return {plan::Operation::alltoall, true, true}; }
inline Form form_of(const Reduction& call) { return {call.operation}; }
inline Form form_of(const ReduceScatter&) { return {plan::Operation::reduce_scatter, true}; }
inline Form form_of(const Barrier&) { return {plan::Operation::barrier}; }
inline Form form_of(const NeighborAllgather&) { return {plan::Operation::neighbor_allgather}; }
inline Form form_of(const NeighborAllgatherv&) { return {plan::Operation::neighbor_allgather, true}; }
inline Form form_of(const NeighborAlltoall&) { return {plan::Operation::neighbor_alltoall}; }
inline Form form_of(const NeighborAlltoallv&) { return {plan::Operation::neighbor_alltoall, true}; }
inline Form form_of(const NeighborAlltoallw&) { return {plan::Operation::neighbor_alltoall, true, true}; }

/// Calls without counts for each rank that go along no edges.
template <class Call>
inline constexpr bool is_plain_call =
    std::same_as<Call, Broadcast> || std::same_as<Call, Scatter> || std::same_as<Call, Gather> ||
    std::same_as<Call, Allgather> || std::same_as<Call, Alltoall> || std::same_as<Call, Reduction> ||
    std::same_as<Call, Barrier>;

/// What of a call decides on its rank which problem it is, if MPI allows the call at all; if not, it is native's
/// anyway.
struct Gist {
  MPI_Count count;
  MPI_Datatype type;
  int root;
  MPI_Op op{};  ///< of a reduction: one may be learned about, and the other not

  friend bool operator==(const Gist&, const Gist&) = default;
};

/// `me`: the caller's rank. None where calls are told apart by all their counts. Asked only where some calls of the
/// form are native, for scatterv, gatherv and alltoallv with two ranks only.
inline std::optional<Gist> gist_of(const Run& run, int root = 0) { return Gist{run.count, run.type, root, {}}; }
inline std::optional<Gist> gist_of(const Broadcast& call, int) { return gist_of(call.data, call.root); }
inline std::optional<Gist> gist_of(const Scatter& call, int me) {
  return gist_of(me == call.root ? call.send : call.receive, call.root);
}
inline std::optional<Gist> gist_of(const Gather& call, int me) {
  return gist_of(me == call.root ? call.receive : call.send, call.root);
}
inline std::optional<Gist> gist_of(const Allgather& call, int) { return gist_of(call.receive); }
inline std::optional<Gist> gist_of(const Alltoall& call, int) { return gist_of(call.receive); }
inline std::optional<Gist> gist_of(const Reduction& call, int) {
  return Gist{call.count, call.type, call.root, call.op};
}
/// Of the v-forms that may be told apart by what goes from one of two ranks to the other: that.
inline std::optional<Gist> gist_of_other(const Parts& parts, int me, int root = 0) {
  if (parts.counts.is_missing()) return std::nullopt;
  return Gist{parts.counts[1 - me], parts.type, root, {}};
}
inline std::optional<Gist> gist_of(const Scatterv& call, int me) {
  return me == call.root ? gist_of_other(call.send, me, call.root) : gist_of(call.receive, call.root);
}
inline std::optional<Gist> gist_of(const Gatherv& call, int me) {
  return me == call.root ? gist_of_other(call.receive, me, call.root) : gist_of(call.send, call.root);
}
inline std::optional<Gist> gist_of(const Alltoallv& call, int me) {
  const std::optional<Gist> into = gist_of_other(call.receive, me);
  if (call.send.buffer == MPI_IN_PLACE) return into;
  const std::optional<Gist> from = gist_of_other(call.send, me);
  if (!into || !from || into->type != from->type) return std::nullopt;
  return into->count > from->count ? into : from;
}
template <class Uneven>
std::optional<Gist> gist_of(const Uneven&, int) {
  return std::nullopt;
}

/// The calls of one form on one communicator that native has done without a look at them.
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

/// Of all forms. Nothing where native does none; else it grows by the forms that are called.
class PassedForms {
 public:
  /// From now on so many of each form's calls are native's, by `natives_of(form)`, and nothing is known of calls
  /// before.
  template <class NativesOf>
  void select(NativesOf natives_of) {
    for_each_form([&](const Form& form) {
      const tune::Natives natives = natives_of(form);
      if (natives == tune::Natives::none && forms_ == nullptr) return;
      forms().natives[index_of(form)] = natives;
      if (Passed* const passed = find(index_of(form))) passed->forget();
    });
  }

  /// Whether native does this one, too; then it has been counted. Where nothing is selected for native, that is all
  /// there is to it.
  template <class Call>
  bool takes(const Call& call, int me) {
    if (forms_ == nullptr) return false;
    const std::size_t at = index_of(form_of(call));
    const tune::Natives natives = forms_->natives[at];
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
    const Form form = form_of(call);
    const bool is_known_to_all = !form.has_counts || !tune::hides_sizes(form.operation);
    tune::Natives& natives = forms().natives[index_of(form)];
    if (natives == tune::Natives::none && is_known_to_all) natives = tune::Natives::some;
    if (natives == tune::Natives::some) add(index_of(form)).remember(call, me);
  }
  void count(const Form& form) { count(index_of(form)); }

  /// `each(form, passed)` of those that may have passed any.
  template <class Each>
  void for_each(Each each) {
    if (forms_ == nullptr) return;
    for_each_form([&](const Form& form) {
      if (Passed* const passed = find(index_of(form))) each(form, *passed);
    });
  }

 private:
  static constexpr std::size_t count_of_forms = 2 * plan::operation_count;
  struct Forms {
    std::array<tune::Natives, count_of_forms> natives{};
    std::array<std::uint8_t, count_of_forms> places{};  ///< in `passed`, from 1 on; 0: not called yet
    std::vector<Passed> passed;
  };

  template <class Each>
  static void for_each_form(Each each) {
    for (int i = 0; i < plan::operation_count; ++i)
      for (const bool has_counts : {false, true}) each(Form{static_cast<plan::Operation>(i), has_counts});
  }
  static constexpr std::size_t index_of(const Form& form) {
    return 2 * static_cast<std::size_t>(form.operation) + form.has_counts;
  }
  Forms& forms() {
    if (forms_ == nullptr) forms_ = std::make_unique<Forms>();
    return *forms_;
  }
  /// Null for what has not been called.
  Passed* find(std::size_t at) {
    const std::uint8_t place = forms_->places[at];
    return place == 0 ? nullptr : &forms_->passed[place - 1U];
  }
  [[gnu::noinline]] Passed& add(std::size_t at) {
    std::uint8_t& place = forms().places[at];
    if (place == 0) {
      forms_->passed.emplace_back();
      place = static_cast<std::uint8_t>(forms_->passed.size());
    }
    return forms_->passed[place - 1U];
  }
  void count(std::size_t at) {
    if (Passed* const known = forms_ == nullptr ? nullptr : find(at)) return known->count();
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

  std::unique_ptr<Forms> forms_;
};

}  // namespace espalier::mpi
