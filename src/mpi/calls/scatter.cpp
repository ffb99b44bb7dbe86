// Scatter: every rank its block, from the root.

#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

bool is_receive_valid(const Run& receive, bool is_root) {
  return (is_root && receive.buffer == MPI_IN_PLACE) || is_valid(receive);
}

Side find_output(const Run& receive, const Side* send, int rank) {
  return send != nullptr && receive.buffer == MPI_IN_PLACE ? send->block(rank) : Side(receive);
}

bool is_missing(const Side* send, const Side& output) {
  return output.is_missing() || (send != nullptr && send->is_missing());
}

}  // namespace

std::optional<int> try_call(const Scatter& call) {
  Communicator* communicator = find_served(call.comm, Operation::scatter);
  if (communicator == nullptr) return std::nullopt;
  const int ranks = communicator->ranks(), me = communicator->rank();
  if (call.root < 0 || call.root >= ranks || !is_receive_valid(call.receive, me == call.root))
    return refuse_arguments(Operation::scatter);
  std::optional<Side> send;
  if (me == call.root) {
    if (!is_valid(call.send)) return refuse_arguments(Operation::scatter);
    send.emplace(call.send, ranks);
  }
  const Side* input = send ? &*send : nullptr;
  const Side output = find_output(call.receive, input, me);
  const Bytes bytes = output.bytes();
  if (is_missing(input, output)) return refuse_arguments(Operation::scatter);
  if (send && call.receive.buffer != MPI_IN_PLACE &&
      (bytes != send->block_bytes(me) || is_forbidden_alias(output, *send, static_cast<Bytes>(me) * bytes)))
    return refuse_arguments(Operation::scatter);
  return serve(*communicator, call.comm, {Operation::scatter, bytes, Rank(call.root)},
               {.input = input, .output = &output});
}

std::optional<int> try_call(const Scatterv& call) {
  Communicator* communicator = find_served(call.comm, Operation::scatter);
  if (communicator == nullptr) return std::nullopt;
  const int ranks = communicator->ranks(), me = communicator->rank();
  if (call.root < 0 || call.root >= ranks) return refuse_arguments(Operation::scatter);
  if (ranks > most_exchanging_ranks) return leave(Operation::scatter, too_many_ranks);
  if (communicator->engine()->leaves_uneven(Operation::scatter)) return leave_uneven(*communicator, Operation::scatter);
  std::optional<Side> send;
  std::vector<Bytes> sizes(static_cast<std::size_t>(ranks), unknown_size);
  if (me == call.root && is_valid(call.send, ranks) && is_receive_valid(call.receive, true)) {
    send.emplace(call.send, ranks);
    if (!send->is_missing()) sizes = sizes_of(*send, ranks);
  }
  if (const int code = share_sizes(*communicator, call.comm, call.root, sizes); code != MPI_SUCCESS) return code;
  if (!are_known(sizes) || !is_receive_valid(call.receive, me == call.root))
    return refuse_arguments(Operation::scatter);
  const Side* input = send ? &*send : nullptr;
  const Side output = find_output(call.receive, input, me);
  if (is_missing(input, output)) return refuse_arguments(Operation::scatter);
  const bool is_mismatched = output.bytes() != sizes[static_cast<std::size_t>(me)];
  return serve(*communicator, call.comm, make_uneven(Operation::scatter, call.root, std::move(sizes)),
               {.input = input, .output = &output, .is_mismatched = is_mismatched});
}

}  // namespace espalier::mpi
