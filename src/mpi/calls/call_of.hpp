#pragma once
// Which call it is that comes in, by its arguments: what others are told of it (plan::Call), and what tells it from
// others on its rank.

#include <concepts>
#include <cstdint>
#include <optional>

#include "mpi/buffers/datatype.hpp"
#include "mpi/calls/calls.hpp"
#include "plan/calls.hpp"

namespace espalier::mpi {

namespace detail {

using plan::BlockSizes;
using plan::Operation;

inline plan::Call kind_of(const Broadcast&) { return {Operation::broadcast}; }
inline plan::Call kind_of(const Scatter&) { return {Operation::scatter}; }
inline plan::Call kind_of(const Scatterv&) { return {Operation::scatter, BlockSizes::counts}; }
inline plan::Call kind_of(const Gather&) { return {Operation::gather}; }
inline plan::Call kind_of(const Gatherv&) { return {Operation::gather, BlockSizes::counts}; }
inline plan::Call kind_of(const Allgather&) { return {Operation::allgather}; }
inline plan::Call kind_of(const Allgatherv&) { return {Operation::allgather, BlockSizes::counts}; }
inline plan::Call kind_of(const Alltoall&) { return {Operation::alltoall}; }
inline plan::Call kind_of(const Alltoallv&) { return {Operation::alltoall, BlockSizes::counts}; }
inline plan::Call kind_of(const Alltoallw&) { return {Operation::alltoall, BlockSizes::types}; }
inline plan::Call kind_of(const Reduction& call) { return {call.operation}; }
inline plan::Call kind_of(const ReduceScatter&) { return {Operation::reduce_scatter, BlockSizes::counts}; }
inline plan::Call kind_of(const Barrier&) { return {Operation::barrier}; }
inline plan::Call kind_of(const NeighborAllgather&) { return {Operation::neighbor_allgather}; }
inline plan::Call kind_of(const NeighborAllgatherv&) { return {Operation::neighbor_allgather, BlockSizes::counts}; }
inline plan::Call kind_of(const NeighborAlltoall&) { return {Operation::neighbor_alltoall}; }
inline plan::Call kind_of(const NeighborAlltoallv&) { return {Operation::neighbor_alltoall, BlockSizes::counts}; }
inline plan::Call kind_of(const NeighborAlltoallw&) { return {Operation::neighbor_alltoall, BlockSizes::types}; }

}  // namespace detail

/// As a blocking one, with nothing added up: its bytes are not known here.
template <class Call>
plan::Call call_of(const Call& call) {
  plan::Call told = detail::kind_of(call);
  if constexpr (requires { call.root; }) told.root = call.root;
  return told;
}

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

/// The same with the bytes of the message or block. `me`: the caller's rank; -1 where that is not known yet, and with
/// it which of a scatter's or gather's arguments count. Of calls with counts none are told, for to add them up takes as
/// long as to make the call on some ranks.
template <class Call>
plan::Call call_of(const Call& call, int me) {
  constexpr bool is_sided = std::same_as<Call, Scatter> || std::same_as<Call, Gather>;
  plan::Call told = call_of(call);
  if constexpr (std::same_as<Call, Barrier>) {
    told.bytes = 0;
  } else if constexpr (is_plain_call<Call>) {
    const std::optional<Gist> gist = is_sided && me < 0 ? std::nullopt : gist_of(call, me);
    const bool has_size = gist && gist->count >= 0 && gist->type != native().datatype_null;
    if (has_size) told.bytes = static_cast<Bytes>(gist->count * size_of(gist->type));
  }
  return told;
}

}  // namespace espalier::mpi
