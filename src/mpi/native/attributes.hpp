#pragma once
// Attributes of communicators, in which state of ours is kept: it goes when the communicator does.

#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// A key for such state. Duplicates begin without: their messages and calls must not mix with the original's.
/// MPI_KEYVAL_INVALID where MPI gives none.
inline int make_keyval(int (*on_free)(MPI_Comm, int keyval, void* state, void* extra)) {
  const auto do_not_copy = [](MPI_Comm, int, void*, void*, void*, int* is_copied) -> int {
    *is_copied = 0;
    return MPI_SUCCESS;
  };
  int made = MPI_KEYVAL_INVALID;
  native().Comm_create_keyval(do_not_copy, on_free, &made, nullptr);
  return made;
}

}  // namespace espalier::mpi
