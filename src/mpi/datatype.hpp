#pragma once
// What we need to know about an MPI datatype: its size, and whether its data lie as plain bytes.

#include "mpi/native.hpp"

namespace espalier::mpi {

struct Layout {
  /// Bytes of data in one element, without gaps: what ranks must agree on.
  MPI_Count size = 0;
  /// Elements are bytes without gaps, in the order of the type map, one after the other: the buffer can be used as it is.
  bool is_dense = false;
  /// Predefined: it needs no commit and its handle is never reused.
  bool is_named = false;
};

/// `type` is not the null datatype. Predefined types are remembered; for others MPI is asked each time, since their handles
/// come back for other types.
Layout describe(MPI_Datatype type);

}  // namespace espalier::mpi
