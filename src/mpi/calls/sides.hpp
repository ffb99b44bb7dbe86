#pragma once
// What a rank brings to a call and where it wants the result.

#include "mpi/buffers/side.hpp"

namespace espalier::mpi {

/// What a rank brings to a call and where it wants the result. Null: nothing. In place, the input is where MPI says it
/// lies in the receive buffer (for a scatter's root, the output in the send buffer).
struct Sides {
  const Side* input = nullptr;
  const Side* output = nullptr;
  /// The input is the whole of the output buffer and must survive while that is written (alltoall, reduce_scatter).
  bool must_copy = false;
  /// Blocks are not all as long as the problem says: what is missing is made up for, what there is no room for is left
  /// out, and an error says so.
  bool differ = false;
  /// There must be data, and the caller says nowhere. Not every MPI looks, so that native may not be left alone with
  /// it.
  bool are_missing = false;
};

/// MPI's code for types that were not committed: native refuses them, on every rank, before anybody moves data. Asked
/// before prepare(), where ranks may have to wait for each other: who is refused waits for nobody.
inline int check_committed(const Sides& sides, MPI_Comm comm) {
  int code = MPI_SUCCESS;
  if (sides.input != nullptr) code = sides.input->check_committed(comm);
  if (sides.output != nullptr && code == MPI_SUCCESS) code = sides.output->check_committed(comm);
  return code;
}

}  // namespace espalier::mpi
