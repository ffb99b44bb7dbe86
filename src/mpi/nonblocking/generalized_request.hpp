#pragma once
// A request of native's that is complete when we say so.

#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// A generalized request (MPI 4.0, section 13.2), which native looks at together with its own.
class GeneralizedRequest {
 public:
  /// Makes it. MPI's code.
  int start();
  MPI_Request handle() const { return request_; }
  /// It is complete, with that code of MPI's, which whoever completes the request gets. Once, after start().
  void complete(int code) noexcept;
  /// Gives the handle up, if nobody has completed it.
  void free() noexcept;

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
