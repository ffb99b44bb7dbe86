#include "mpi/calls/forbidden.hpp"

#include "mpi/buffers/arithmetic.hpp"
#include "mpi/calls/own_block.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

bool is_no_root(int root, int ranks) { return root < 0 || root >= ranks; }

bool is_missing(const Side& side) { return refuses_missing && side.is_missing(); }

/// A rank's own block, and those of all where they mean something to it.
bool are_forbidden(const Run& own, const Side* all, int me) {
  if (!is_own_valid(own, all != nullptr)) return true;
  const Side mine = find_own(own, all, me);
  if (is_missing(mine) || (all != nullptr && is_missing(*all))) return true;
  return all != nullptr && own.buffer != MPI_IN_PLACE && is_forbidden_alias(mine, *all, me);
}

/// `all` are a Run or Parts.
template <class All>
bool are_forbidden(const Run& own, const All& all, bool has_all, int ranks, int me) {
  if (!has_all) return are_forbidden(own, nullptr, me);
  if constexpr (std::is_same_v<All, Run>) {
    if (!is_valid(all)) return true;
  } else {
    if (!is_valid(all, ranks)) return true;
  }
  const Side blocks(all, ranks);
  return are_forbidden(own, &blocks, me);
}

template <class Call>
bool is_forbidden_scatter(const Call& call, int ranks, int me) {
  return is_no_root(call.root, ranks) || are_forbidden(call.receive, call.send, me == call.root, ranks, me);
}
template <class Call>
bool is_forbidden_gather(const Call& call, int ranks, int me) {
  return is_no_root(call.root, ranks) || are_forbidden(call.send, call.receive, me == call.root, ranks, me);
}

template <class Call>
bool are_forbidden_rows(const Call& call, int ranks) {
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  if (!is_valid(call.receive, ranks) || !(in_place || is_valid(call.send, ranks))) return true;
  return is_missing(Side(call.receive, ranks)) || (!in_place && is_missing(Side(call.send, ranks)));
}

/// `has_output`: the call's result is for this rank, too.
bool is_forbidden_reduction(const void* send, const void* receive, MPI_Datatype type, MPI_Op op, bool has_output) {
  if (type == native().datatype_null || op == native().op_null) return true;
  if (send == MPI_IN_PLACE) return !has_output;
  return has_output && (receive == MPI_IN_PLACE || (refuses_aliases && send == receive && send != nullptr));
}

}  // namespace

bool is_forbidden(const Broadcast& call, int ranks, int) {
  return is_no_root(call.root, ranks) || !is_valid(call.data) || is_missing(Side(call.data));
}

bool is_forbidden(const Scatter& call, int ranks, int me) { return is_forbidden_scatter(call, ranks, me); }
bool is_forbidden(const Scatterv& call, int ranks, int me) { return is_forbidden_scatter(call, ranks, me); }
bool is_forbidden(const Gather& call, int ranks, int me) { return is_forbidden_gather(call, ranks, me); }
bool is_forbidden(const Gatherv& call, int ranks, int me) { return is_forbidden_gather(call, ranks, me); }

bool is_forbidden(const Allgather& call, int ranks, int me) {
  return are_forbidden(call.send, call.receive, true, ranks, me);
}
bool is_forbidden(const Allgatherv& call, int ranks, int me) {
  return are_forbidden(call.send, call.receive, true, ranks, me);
}

bool is_forbidden(const Alltoall& call, int ranks, int) {
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  if (!is_valid(call.receive) || !(in_place || is_valid(call.send))) return true;
  const Side receive(call.receive, ranks), send(in_place ? call.receive : call.send, ranks);
  return is_missing(send) || is_missing(receive) || (!in_place && is_forbidden_alias(send, receive, 0));
}
bool is_forbidden(const Alltoallv& call, int ranks, int) {
  return are_forbidden_rows(call, ranks) || is_forbidden_alias(call);
}
bool is_forbidden(const Alltoallw& call, int ranks, int) {
  return are_forbidden_rows(call, ranks) || is_forbidden_alias(call);
}

bool is_forbidden(const Reduction& call, int ranks, int me) {
  const bool has_output = call.operation != Operation::reduce || me == call.root;
  const bool is_empty = call.count == 0;
  return call.count < 0 || is_no_root(call.root, ranks) ||
         (is_empty ? call.type == native().datatype_null || call.op == native().op_null
                   : is_forbidden_reduction(call.send, call.receive, call.type, call.op, has_output));
}

bool is_forbidden(const ReduceScatter& call, int ranks, int) {
  if (call.counts.is_missing()) return true;
  MPI_Count all = 0;
  for (int r = 0; r < ranks; ++r) {
    if (call.counts[r] < 0) return true;
    all += call.counts[r];
  }
  return all > 0 && is_forbidden_reduction(call.send, call.receive, call.type, call.op, true);
}

bool find_place(MPI_Comm comm, int* ranks, int* me) {
  const Native& mpi = native();
  int is_inter = 0;
  return comm != mpi.comm_null && mpi.Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && !is_inter &&
         mpi.Comm_size(comm, ranks) == MPI_SUCCESS && mpi.Comm_rank(comm, me) == MPI_SUCCESS;
}

bool is_refusal(int code) {
  int kind = MPI_SUCCESS;
  if (code == MPI_SUCCESS || native().Error_class(code, &kind) != MPI_SUCCESS) return false;
  for (const int refused : {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_ROOT, MPI_ERR_OP, MPI_ERR_ARG})
    if (kind == refused) return true;
  return false;
}

}  // namespace espalier::mpi
