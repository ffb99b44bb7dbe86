#include "plan/calls.hpp"

namespace espalier::plan {

const char* mpi_name(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "MPI_Bcast";
    case Operation::scatter: return "MPI_Scatter";
    case Operation::gather: return "MPI_Gather";
    case Operation::allgather: return "MPI_Allgather";
    case Operation::alltoall: return "MPI_Alltoall";
    case Operation::reduce: return "MPI_Reduce";
    case Operation::allreduce: return "MPI_Allreduce";
    case Operation::reduce_scatter: return "MPI_Reduce_scatter";
    case Operation::scan: return "MPI_Scan";
    case Operation::exscan: return "MPI_Exscan";
    case Operation::barrier: return "MPI_Barrier";
    case Operation::neighbor_allgather: return "MPI_Neighbor_allgather";
    case Operation::neighbor_alltoall: return "MPI_Neighbor_alltoall";
  }
  return "";
}

const char* name(CallForm form) {
  switch (form) {
    case CallForm::blocking: return "blocking";
    case CallForm::nonblocking: return "nonblocking";
    case CallForm::persistent: return "persistent";
  }
  return "";
}

}  // namespace espalier::plan
