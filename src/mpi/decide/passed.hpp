#pragma once
// Calls that native does whatever they are, or again and again: told at the door, before anything of them is looked at.

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

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

/// The calls of one form on one communicator that native does without a look at them.
class Passed {
 public:
  /// From now on this many are selected for native, and nothing is known of calls before.
  void select(tune::Natives natives) {
    natives_ = natives;
    last_.count = no_call;
  }

  /// Whether native does this one, too; then it has been counted. Where nothing is selected for native, that is all
  /// there is to it.
  template <class Call>
  bool takes(const Call& call, int me) {
    if (natives_ == tune::Natives::none) return false;
    return natives_ == tune::Natives::all ? count() : is_like_last(call, me) && count();
  }
  bool takes_all() const { return natives_ == tune::Natives::all; }

  /// Native was selected for this call, as it then is for all like it. A type that is not predefined may be another one
  /// next time.
  template <class Call>
  void remember(const Call& call, int me) {
    // As the calls themselves have taught. Where each rank knows its own counts only, one may take the next call to be
    // like this one, and another not: those are passed on by what was said before any was made, or not at all.
    const Form form = form_of(call);
    const bool is_known_to_all = !form.has_counts || !tune::hides_sizes(form.operation);
    if (natives_ == tune::Natives::none && is_known_to_all) natives_ = tune::Natives::some;
    if (natives_ != tune::Natives::some) return;
    const std::optional<Gist> gist = gist_of(call, me);
    if (gist && describe(gist->type).is_named) last_ = *gist;
  }

  bool count() {
    ++calls_;
    return true;
  }
  std::uint64_t take_calls() { return std::exchange(calls_, 0); }

 private:
  static constexpr MPI_Count no_call = -1;

  template <class Call>
  bool is_like_last(const Call& call, int me) const {
    const std::optional<Gist> gist = gist_of(call, me);
    return gist && *gist == last_;
  }

  tune::Natives natives_ = tune::Natives::none;
  std::uint64_t calls_ = 0;
  Gist last_{no_call, {}, 0, {}};
};

/// Of all forms. Takes a kilobyte where native does any, and a word where it does none.
class PassedForms {
 public:
  /// From now on, by `natives_of(form)`, as Passed::select().
  template <class NativesOf>
  void select(NativesOf natives_of) {
    for_each_form([&](const Form& form) {
      const tune::Natives natives = natives_of(form);
      if (natives != tune::Natives::none || forms_ != nullptr) of(form).select(natives);
    });
  }

  template <class Call>
  bool takes(const Call& call, int me) {
    return forms_ != nullptr && of(form_of(call)).takes(call, me);
  }
  template <class Call>
  void remember(const Call& call, int me) {
    of(form_of(call)).remember(call, me);
  }
  void count(const Form& form) { of(form).count(); }

  /// `each(form, passed)` of those that may have passed any.
  template <class Each>
  void for_each(Each each) {
    if (forms_ != nullptr) for_each_form([&](const Form& form) { each(form, of(form)); });
  }

 private:
  template <class Each>
  static void for_each_form(Each each) {
    for (int i = 0; i < plan::operation_count; ++i)
      for (const bool has_counts : {false, true}) each(Form{static_cast<plan::Operation>(i), has_counts});
  }
  Passed& of(const Form& form) {
    if (forms_ == nullptr) forms_ = std::make_unique<Forms>();
    return (*forms_)[2 * static_cast<std::size_t>(form.operation) + form.has_counts];
  }

  using Forms = std::array<Passed, 2 * plan::operation_count>;
  std::unique_ptr<Forms> forms_;
};

}  // namespace espalier::mpi
