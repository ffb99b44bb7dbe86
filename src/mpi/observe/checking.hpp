#pragma once
// ESPALIER_CHECK: ranks tell each other what they are about to do.

#include "mpi/observe/observed_communicator.hpp"
#include "mpi/observe/record.hpp"
#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

/// A collective operation over `comm`; `shares` are empty where the call has no counts. MPI's code, the same on all
/// ranks, and reported if it is no success; nothing has moved. Throws NativeFailure.
int check_call(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject, const Shares& shares);

}  // namespace espalier::mpi
