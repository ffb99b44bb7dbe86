#pragma once
// Collectives of the native library that let others run while they wait. The blocking ones of some libraries never
// yield: with more ranks than cores each would cost milliseconds.

#include <cstddef>
#include <vector>

#include "mpi/boundary/native.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {

/// The native library itself failed: nothing that could be agreed on.
struct NativeFailure {};

inline void check(int code) {
  if (code != MPI_SUCCESS) throw NativeFailure{};
}

/// Throws NativeFailure, as all here. A null request is over; SMPI's MPI_Test does not say so.
inline void wait_quietly(MPI_Request request) {
  for (int is_complete = request == native().request_null; !is_complete;) {
    check(native().Test(&request, &is_complete, MPI_STATUS_IGNORE));
    if (is_complete) break;
    ProgressQueue::advance_pending();
    let_others_run();
  }
}

/// Everyone's record, by rank. All ranks of the communicator call it.
template <class Record>
std::vector<Record> gather_quietly(MPI_Comm comm, int size, const Record& mine) {
  std::vector<Record> all(static_cast<std::size_t>(size));
  constexpr int bytes = sizeof(Record);
  MPI_Request request;
  check(start_gather(&mine, all.data(), bytes, comm, &request));
  wait_quietly(request);
  return all;
}

/// Rank 0's records to all, who know how many there are.
template <class Record>
void broadcast_quietly(MPI_Comm comm, std::vector<Record>& records) {
  MPI_Request request;
  const int bytes = static_cast<int>(records.size() * sizeof(Record));
  check(native().Ibcast(records.data(), bytes, native().byte, 0, comm, &request));
  wait_quietly(request);
}

}  // namespace espalier::mpi
