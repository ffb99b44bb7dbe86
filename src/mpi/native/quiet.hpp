#pragma once
// Collectives of the native library that let others run while they wait. The blocking ones of some libraries never
// yield: with more ranks than cores each would cost milliseconds.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mpi/native/native.hpp"
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
  if (may_wait_inside()) return check(native().Wait(&request, MPI_STATUS_IGNORE));
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

/// Of longer messages. Where processes must not read each other's memory (containers), MPICH fails at messages of 8 KB
/// and more, on the rank that receives them alone: its neighbours would wait for it for ever.
inline constexpr std::size_t longest_piece = 4 << 10;

/// Rank 0's records to all, who know how many there are.
template <class Record>
void broadcast_quietly(MPI_Comm comm, std::vector<Record>& records) {
  auto* const begin = reinterpret_cast<std::byte*>(records.data());
  const std::size_t bytes = records.size() * sizeof(Record);
  for (std::size_t done = 0; done < bytes; done += longest_piece) {
    MPI_Request request;
    const int piece = static_cast<int>(std::min(longest_piece, bytes - done));
    check(native().Ibcast(begin + done, piece, native().byte, 0, comm, &request));
    wait_quietly(request);
  }
}

}  // namespace espalier::mpi
