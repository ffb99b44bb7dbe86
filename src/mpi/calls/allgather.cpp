// Allgather: every rank's block, to all.

#include "mpi/calls/counts.hpp"
#include "mpi/calls/own_block.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

/// Whether native did the last call with these blocks, and was selected for it.
bool passes_on(Communicator& communicator, const Parts& receive) {
  if (receive.counts.is_missing() || receive.type == native().datatype_null) return false;
  return communicator.engine()->passes_on(
      Operation::allgather, [&] { return deal_of(receive.counts, communicator.ranks(), describe(receive.type).size); });
}

}  // namespace

std::optional<int> try_call(Communicator& communicator, const Allgather& call, Start* start) {
  if (!is_valid(call.receive)) return refuse_arguments(Operation::allgather);
  const Side all(call.receive, communicator.ranks());
  return serve_blocks(communicator, call.comm, Operation::allgather, 0, call.send, &all, start);
}

std::optional<int> try_call(Communicator& communicator, const Allgatherv& call, Start* start) {
  const int ranks = communicator.ranks();
  if (passes_on(communicator, call.receive)) return std::nullopt;
  if (!is_valid(call.receive, ranks) || !is_own_valid(call.send, true)) return refuse_arguments(Operation::allgather);
  const Side all(call.receive, ranks);
  const Side own = find_own(call.send, &all, communicator.rank());
  if (own.is_missing() || all.is_missing()) return refuse_arguments(Operation::allgather);
  if (call.send.buffer != MPI_IN_PLACE && is_forbidden_alias(own, all, communicator.rank()))
    return refuse_arguments(Operation::allgather);
  return serve_uneven(communicator, call.comm, Operation::allgather, 0, own, &all, sizes_of(&all, ranks), start);
}

}  // namespace espalier::mpi
