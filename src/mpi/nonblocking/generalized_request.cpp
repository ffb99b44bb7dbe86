#include "mpi/nonblocking/generalized_request.hpp"

namespace espalier::mpi {

// As of an empty status, which is what natives' own collectives have.
int GeneralizedRequest::query(void* outcome, MPI_Status* status) {
  native().Status_set_elements(status, native().byte, 0);
  native().Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  return static_cast<Outcome*>(outcome)->code;
}

int GeneralizedRequest::free(void* outcome) {
  delete static_cast<Outcome*>(outcome);
  return MPI_SUCCESS;
}

// MPI 4.0, section 6.12: collectives cannot be cancelled.
int GeneralizedRequest::cancel(void*, int is_complete) { return is_complete ? MPI_SUCCESS : MPI_ERR_REQUEST; }

int GeneralizedRequest::start() {
  outcome_ = new Outcome;
  const int code = native().Grequest_start(query, free, cancel, outcome_, &request_);
  if (code != MPI_SUCCESS) delete outcome_;
  return code;
}

void GeneralizedRequest::complete(int code) noexcept {
  outcome_->code = code;
  native().Grequest_complete(request_);
}

void GeneralizedRequest::free() noexcept { native().Request_free(&request_); }

}  // namespace espalier::mpi
