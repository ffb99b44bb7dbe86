// Gather and allgather: every rank's block, to the root or to all.

#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/calls/uneven_blocks.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

// MPI_IN_PLACE means something only where there is a receive side to lie in.
bool is_send_valid(const Run& send, bool receives) {
  return (receives && send.buffer == MPI_IN_PLACE) || is_valid(send);
}

Side find_input(const Run& send, const Side* receive, int rank) {
  return receive != nullptr && send.buffer == MPI_IN_PLACE ? receive->block(rank) : Side(send);
}

bool is_missing(const Side& input, const Side* receive) {
  return input.is_missing() || (receive != nullptr && receive->is_missing());
}

/// With equal blocks. `receive` is null where MPI ignores it.
std::optional<int> collect(Communicator& communicator, MPI_Comm comm, Operation operation, int root, const Run& send,
                           const Side* receive) {
  if (!is_send_valid(send, receive != nullptr)) return refuse_arguments(operation);
  const int me = communicator.rank();
  const Side input = find_input(send, receive, me);
  const Bytes bytes = input.bytes();
  if (is_missing(input, receive)) return refuse_arguments(operation);
  if (receive != nullptr && send.buffer != MPI_IN_PLACE &&
      (bytes != receive->block_bytes(me) || is_forbidden_alias(input, *receive, static_cast<Bytes>(me) * bytes)))
    return refuse_arguments(operation);
  return serve(communicator, comm, {operation, bytes, Rank(root)}, {.input = &input, .output = receive});
}

/// With blocks of the given sizes, which all ranks know.
std::optional<int> collect_uneven(Communicator& communicator, MPI_Comm comm, Operation operation, int root,
                                  const Run& send, const Side* receive, std::vector<Bytes> sizes) {
  if (!is_send_valid(send, receive != nullptr)) return refuse_arguments(operation);
  const int me = communicator.rank();
  const Side input = find_input(send, receive, me);
  if (is_missing(input, receive)) return refuse_arguments(operation);
  const bool is_mismatched = input.bytes() != sizes[static_cast<std::size_t>(me)];
  return serve(communicator, comm, make_uneven(operation, root, std::move(sizes)),
               {.input = &input, .output = receive, .is_mismatched = is_mismatched});
}

/// What a rank brings to a gatherv and where it wants the result; null where MPI ignores or forbids it.
class UnevenSides {
 public:
  UnevenSides(const Gatherv& call, int ranks, int me) {
    const bool is_root = me == call.root;
    if (is_root && is_valid(call.receive, ranks) && is_send_valid(call.send, true))
      receive_.emplace(call.receive, ranks);
    are_missing_ = drop_missing(receive_);
    if (is_send_valid(call.send, receive_.has_value())) send_ = find_input(call.send, receive(), me);
    are_missing_ = drop_missing(send_) || are_missing_;
  }
  const Side* send() const { return address_of(send_); }
  const Side* receive() const { return address_of(receive_); }
  Sides both() const { return {.input = send(), .output = receive(), .are_missing = are_missing_}; }

 private:
  std::optional<Side> send_, receive_;
  bool are_missing_;
};

}  // namespace

std::optional<int> try_call(const Gather& call) {
  Communicator* communicator = find_served(call.comm, Operation::gather);
  if (communicator == nullptr) return std::nullopt;
  if (call.root < 0 || call.root >= communicator->ranks()) return refuse_arguments(Operation::gather);
  if (communicator->rank() != call.root)
    return collect(*communicator, call.comm, Operation::gather, call.root, call.send, nullptr);
  if (!is_valid(call.receive)) return refuse_arguments(Operation::gather);
  const Side receive(call.receive, communicator->ranks());
  return collect(*communicator, call.comm, Operation::gather, call.root, call.send, &receive);
}

std::optional<int> try_call(const Gatherv& call) {
  Communicator* communicator = find_served(call.comm, Operation::gather);
  if (communicator == nullptr) return std::nullopt;
  const int ranks = communicator->ranks();
  if (call.root < 0 || call.root >= ranks) return refuse_arguments(Operation::gather);
  if (ranks > most_exchanging_ranks) return leave(Operation::gather, too_many_ranks);
  if (communicator->engine()->leaves_uneven(Operation::gather)) return leave_uneven(*communicator, Operation::gather);
  const UnevenSides sides(call, ranks, communicator->rank());
  const Problem problem{Operation::gather, 0, Rank(call.root)};
  auto [is_over, code, sizes] = try_uneven_blocks(*communicator, call.comm, problem, sides.both());
  if (is_over) return code;
  if (communicator->engine()->leaves_long_blocks(Operation::gather))
    return leave_uneven(*communicator, Operation::gather);
  if (sizes.empty()) {
    sizes = sizes_of(sides.receive(), ranks);
    if (const int failed = share_sizes(*communicator, call.comm, call.root, sizes); failed != MPI_SUCCESS)
      return failed;
  }
  if (!are_known(sizes)) return refuse_arguments(Operation::gather);
  return collect_uneven(*communicator, call.comm, Operation::gather, call.root, call.send, sides.receive(),
                        std::move(sizes));
}

std::optional<int> try_call(const Allgather& call) {
  Communicator* communicator = find_served(call.comm, Operation::allgather);
  if (communicator == nullptr) return std::nullopt;
  if (!is_valid(call.receive)) return refuse_arguments(Operation::allgather);
  const Side receive(call.receive, communicator->ranks());
  return collect(*communicator, call.comm, Operation::allgather, 0, call.send, &receive);
}

std::optional<int> try_call(const Allgatherv& call) {
  Communicator* communicator = find_served(call.comm, Operation::allgather);
  if (communicator == nullptr) return std::nullopt;
  if (!is_valid(call.receive, communicator->ranks())) return refuse_arguments(Operation::allgather);
  const Side receive(call.receive, communicator->ranks());
  return collect_uneven(*communicator, call.comm, Operation::allgather, 0, call.send, &receive,
                        sizes_of(&receive, communicator->ranks()));
}

}  // namespace espalier::mpi
