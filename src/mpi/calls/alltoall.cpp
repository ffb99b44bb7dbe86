// Alltoall: a block from every rank to every rank.

#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

/// The blocks for all ranks as this rank told the others, or unknown sizes.
std::vector<Bytes> make_row(const std::optional<Side>& send, const std::optional<Side>& receive, int ranks) {
  const bool is_fine = send && receive && !send->is_missing() && !receive->is_missing();
  return is_fine ? sizes_of(*send, ranks) : std::vector<Bytes>(static_cast<std::size_t>(ranks), unknown_size);
}

/// Whether what the others send is what this rank expects.
bool fits(const Side& receive, const std::vector<Bytes>& matrix, int ranks, int me) {
  for (int from = 0; from < ranks; ++from)
    if (receive.block_bytes(from) != matrix[static_cast<std::size_t>(from * ranks + me)]) return false;
  return true;
}

}  // namespace

std::optional<int> try_call(const Alltoall& call) {
  Communicator* communicator = find_served(call.comm, Operation::alltoall);
  if (communicator == nullptr) return std::nullopt;
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  if (!is_valid(call.receive) || !(in_place || is_valid(call.send))) return refuse_arguments(Operation::alltoall);
  const Side receive(call.receive, communicator->ranks());
  const Side send(in_place ? call.receive : call.send, communicator->ranks());
  if (send.is_missing() || receive.is_missing() || send.bytes() != receive.bytes() ||
      (!in_place && is_forbidden_alias(send, receive)))
    return refuse_arguments(Operation::alltoall);
  return serve(*communicator, call.comm, {Operation::alltoall, receive.block_bytes(0)},
               {.input = &send, .output = &receive, .must_copy = in_place});
}

std::optional<int> try_call(const Alltoallv& call) {
  Communicator* communicator = find_served(call.comm, Operation::alltoall);
  if (communicator == nullptr) return std::nullopt;
  const int ranks = communicator->ranks(), me = communicator->rank();
  if (ranks > most_exchanging_ranks) return leave(Operation::alltoall, too_many_ranks);
  if (communicator->engine()->leaves_uneven(Operation::alltoall))
    return leave_uneven(*communicator, Operation::alltoall);
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  std::optional<Side> send, receive;
  if (is_valid(call.receive, ranks)) receive.emplace(call.receive, ranks);
  if (in_place)
    send = receive;
  else if (is_valid(call.send, ranks))
    send.emplace(call.send, ranks);
  std::vector<Bytes> matrix;
  const std::vector<Bytes> row = make_row(send, receive, ranks);
  if (const int code = share_rows(*communicator, call.comm, row, matrix); code != MPI_SUCCESS) return code;
  if (!are_known(matrix)) return refuse_arguments(Operation::alltoall);
  const bool is_mismatched = !fits(*receive, matrix, ranks, me);
  return serve(*communicator, call.comm, make_uneven(Operation::alltoall, 0, std::move(matrix)),
               {.input = &*send, .output = &*receive, .must_copy = in_place, .is_mismatched = is_mismatched});
}

}  // namespace espalier::mpi
