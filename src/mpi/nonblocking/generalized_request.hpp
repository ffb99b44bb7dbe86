#pragma once
// The MPI_Request of a nonblocking call of ours.

#include "mpi/boundary/native.hpp"

namespace espalier::mpi {

/// A generalized request of the native library (MPI 4.0, section 13.2): a handle that every function of MPI takes, in
/// arrays with native's own, and that is complete when we say so.
class GeneralizedRequest {
 public:
  /// Makes the handle. MPI's code.
  int start(MPI_Request* request);
  /// The call is over, with that code of MPI's, which whoever completes the request gets. Once, after start().
  void complete(int code) noexcept;

 private:
  struct Outcome {
    int code = MPI_SUCCESS;
  };
  static int query(void* outcome, MPI_Status* status);
  static int free(void* outcome);
  static int cancel(void* outcome, int is_complete);

  MPI_Request request_{};
  Outcome* outcome_ = nullptr;  ///< the request's, until it is freed
};

}  // namespace espalier::mpi
