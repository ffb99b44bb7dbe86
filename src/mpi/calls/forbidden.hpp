#pragma once
// What a rank alone can see to be wrong with its arguments. Native refuses such a call where it is made, and waits for
// nobody; so nothing may count the call, or have others take part in it, before that.

#include "mpi/calls/call_of.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

/// Whether MPI forbids what rank `me` of `ranks` says, whatever others say, on an intracommunicator: a root that is
/// none, negative counts, no datatype, no operation, MPI_IN_PLACE where it means nothing, data that are nowhere, and
/// aliases where the MPI at hand refuses them. Not all that native refuses: a type that is not committed only it knows.
bool is_forbidden(const Broadcast& call, int ranks, int me);
bool is_forbidden(const Scatter& call, int ranks, int me);
bool is_forbidden(const Scatterv& call, int ranks, int me);
bool is_forbidden(const Gather& call, int ranks, int me);
bool is_forbidden(const Gatherv& call, int ranks, int me);
bool is_forbidden(const Allgather& call, int ranks, int me);
bool is_forbidden(const Allgatherv& call, int ranks, int me);
bool is_forbidden(const Alltoall& call, int ranks, int me);
bool is_forbidden(const Alltoallv& call, int ranks, int me);
bool is_forbidden(const Alltoallw& call, int ranks, int me);
bool is_forbidden(const Reduction& call, int ranks, int me);
bool is_forbidden(const ReduceScatter& call, int ranks, int me);
/// Barriers have no arguments, and what neighbourhoods have depends on neighbours.
template <class Other>
bool is_forbidden(const Other&, int, int) {
  return false;
}

/// This process's place in an intracommunicator of which nothing is known; false: it is none.
bool find_place(MPI_Comm comm, int* ranks, int* me);

/// Whether the call is such a one, on a communicator that is still to be set up; then it has been counted, and native
/// is to refuse it.
template <class Call>
[[gnu::noinline]] bool is_refused_early(MPI_Comm comm, const Call& call) {
  int ranks = 0, me = 0;
  if (!find_place(comm, &ranks, &me) || !is_forbidden(call, ranks, me)) return false;
  refuse_arguments(call_of(call).operation);
  return true;
}

/// Whether native's code says that it refused a call for this rank's arguments, so that no other heard of it.
bool is_refusal(int code);

}  // namespace espalier::mpi
