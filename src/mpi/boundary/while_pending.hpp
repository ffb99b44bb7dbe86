#pragma once
// What waits or looks inside native's functions, while calls of ours are pending: advances them meanwhile. Without any
// it is native's own, for one look at a flag.

#include <algorithm>

#include "mpi/native/native.hpp"
#include "mpi/nonblocking/patience.hpp"

namespace espalier::mpi {

/// Whether `index` is one of those that are done; none is where there was none to wait for (MPI_UNDEFINED). Fortran
/// counts from 1.
template <class Index>
bool is_among(int index, int done, const Index* indices) {
  return done > 0 && std::find(indices, indices + done, index) != indices + done;
}

/// `native(mpi)` waits; `test(mpi, flag)` looks. Codes are MPI's.
template <class Natively, class Test>
[[gnu::always_inline]] inline int wait(const Natively& natively, const Test& test) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return natively(*mpi);
  int code = MPI_SUCCESS, is_done = 0;
  const auto look = [&] {
    code = test(*mpi, &is_done);
    return is_done || code != MPI_SUCCESS;
  };
  return wait_while_busy(look) ? code : natively(*mpi);
}

/// A call that does not wait.
template <class Natively>
[[gnu::always_inline]] inline int look(const Natively& natively) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return natively(*mpi);
  ProgressQueue::get().advance();
  const int code = natively(*mpi);
  let_others_advance();
  return code;
}

/// Of native's.
inline int wait_for(MPI_Request* request, MPI_Status* status) noexcept {
  return wait([=](const Native& mpi) { return mpi.Wait(request, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Test(request, is_done, status); });
}

}  // namespace espalier::mpi
