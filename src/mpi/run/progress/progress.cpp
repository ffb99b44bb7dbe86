#include "mpi/run/progress/progress.hpp"

namespace espalier::mpi {

// MPI_Comm_create, unlike MPI_Comm_dup, does not run the copy functions of the program's own attributes.
void Progress::start() {
  const Native& mpi = native();
  MPI_Group group;
  if (mpi.Comm_group(mpi.comm_self, &group) != MPI_SUCCESS) return;
  const int code = mpi.Comm_create(mpi.comm_self, group, &comm_);
  mpi.Group_free(&group);
  if (code != MPI_SUCCESS) return;
  is_started_ = mpi.Irecv(&nothing_, 1, mpi.byte, 0, 0, comm_, &request_) == MPI_SUCCESS;
}

void Progress::stop() {
  if (!is_started_) return;
  is_started_ = false;
  const Native& mpi = native();
  mpi.Cancel(&request_);
  mpi.Wait(&request_, MPI_STATUS_IGNORE);
  mpi.Comm_free(&comm_);
}

}  // namespace espalier::mpi
