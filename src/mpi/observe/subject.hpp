#pragma once
// What observers want to know of a call: less than is needed to make it.

#include <optional>
#include <vector>

#include "mpi/buffers/datatype.hpp"
#include "mpi/calls/call_of.hpp"
#include "mpi/setup/neighbors.hpp"

namespace espalier::mpi {

/// The call's bytes are what the rank brings, or gets where it only gets: a block, a message, or the sum of its blocks.
/// The handles are this process's.
struct Subject {
  plan::Call call{};
  std::optional<MPI_Datatype> type = {};  ///< of the data
  std::optional<MPI_Op> op = {};          ///< of a reduction
};

namespace detail {

inline bool is_type(MPI_Datatype type) { return type != native().datatype_null; }

inline MPI_Count bytes_of(const Parts& parts, int ranks) {
  if (parts.counts.is_missing() || !is_type(parts.type)) return -1;
  MPI_Count sum = 0;
  for (int r = 0; r < ranks; ++r) sum += parts.counts[r];
  return sum < 0 ? -1 : sum * describe(parts.type).size;
}
inline MPI_Count bytes_of(const Pieces& pieces, int ranks) {
  if (pieces.counts.is_missing() || pieces.types == nullptr) return -1;
  MPI_Count sum = 0;
  for (int r = 0; r < ranks; ++r) {
    if (pieces.counts[r] < 0 || !is_type(pieces.types[r])) return -1;
    sum += pieces.counts[r] * describe(pieces.types[r]).size;
  }
  return sum;
}
inline MPI_Count bytes_of(const Run& run) {
  return run.count < 0 || !is_type(run.type) ? -1 : run.count * describe(run.type).size;
}

/// Of a block for each neighbour that is somebody.
template <class TypeOf>
MPI_Count bytes_of(const Numbers& counts, MPI_Comm comm, const TypeOf& type_of) {
  if (counts.is_missing()) return -1;
  const std::vector<int> destinations = list_neighbors(comm).destinations;
  MPI_Count sum = 0;
  for (int block = 0; block < static_cast<int>(destinations.size()); ++block) {
    if (destinations[static_cast<std::size_t>(block)] < 0) continue;
    const MPI_Count bytes = is_type(type_of(block)) ? counts[block] * describe(type_of(block)).size : -1;
    if (bytes < 0) return -1;
    sum += bytes;
  }
  return sum;
}

inline MPI_Count own_bytes(const Scatterv& call, int me, int ranks) {
  return me == call.root ? bytes_of(call.send, ranks) : bytes_of(call.receive);
}
inline MPI_Count own_bytes(const Gatherv& call, int me, int ranks) {
  return me == call.root ? bytes_of(call.receive, ranks) : bytes_of(call.send);
}
inline MPI_Count own_bytes(const Allgatherv& call, int, int ranks) { return bytes_of(call.receive, ranks); }
inline MPI_Count own_bytes(const Alltoallv& call, int, int ranks) {
  return bytes_of(call.send.buffer == MPI_IN_PLACE ? call.receive : call.send, ranks);
}
inline MPI_Count own_bytes(const Alltoallw& call, int, int ranks) {
  return bytes_of(call.send.buffer == MPI_IN_PLACE ? call.receive : call.send, ranks);
}
inline MPI_Count own_bytes(const ReduceScatter& call, int, int ranks) {
  return bytes_of(Parts{nullptr, call.counts, call.counts, call.type}, ranks);
}
inline MPI_Count own_bytes(const NeighborAllgather& call, int, int) { return bytes_of(call.send); }
inline MPI_Count own_bytes(const NeighborAllgatherv& call, int, int) { return bytes_of(call.send); }
inline MPI_Count own_bytes(const NeighborAlltoall& call, int, int) { return bytes_of(call.send); }
inline MPI_Count own_bytes(const NeighborAlltoallv& call, int, int) {
  return bytes_of(call.send.counts, call.comm, [&](int) { return call.send.type; });
}
inline MPI_Count own_bytes(const NeighborAlltoallw& call, int, int) {
  if (call.send.types == nullptr) return -1;
  return bytes_of(call.send.counts, call.comm, [&](int block) { return call.send.types[block]; });
}

template <class Equal>
MPI_Count own_bytes(const Equal&, int, int) {
  return -1;  // call_of() tells them
}

/// Of calls with counts: what the rank's bytes are counted in. None: types may differ from rank to rank, or are not
/// told.
inline std::optional<MPI_Datatype> own_type(const Scatterv& call, int me) {
  return me == call.root ? call.send.type : call.receive.type;
}
inline std::optional<MPI_Datatype> own_type(const Gatherv& call, int me) {
  return me == call.root ? call.receive.type : call.send.type;
}
inline std::optional<MPI_Datatype> own_type(const Allgatherv& call, int) { return call.receive.type; }
inline std::optional<MPI_Datatype> own_type(const Alltoallv& call, int) { return call.receive.type; }
inline std::optional<MPI_Datatype> own_type(const ReduceScatter& call, int) { return call.type; }
template <class Other>
std::optional<MPI_Datatype> own_type(const Other&, int) {
  return std::nullopt;
}

}  // namespace detail

/// `me` of `ranks`.
template <class Call>
Subject subject_of(const Call& call, int me, int ranks, plan::CallForm form = plan::CallForm::blocking) {
  Subject subject{call_of(call, me)};
  subject.call.form = form;
  if constexpr (requires { call.op; }) subject.op = call.op;
  if (const MPI_Count bytes = detail::own_bytes(call, me, ranks); bytes >= 0)
    subject.call.bytes = static_cast<Bytes>(bytes);
  if (subject.call.has_counts()) {
    const std::optional<MPI_Datatype> type = detail::own_type(call, me);
    if (type && subject.call.bytes.value_or(0) > 0 && detail::is_type(*type)) subject.type = *type;
  } else if (const std::optional<Gist> gist = gist_of(call, me); gist && subject.call.bytes) {
    subject.type = gist->type;
  }
  return subject;
}

}  // namespace espalier::mpi
