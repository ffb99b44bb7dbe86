// Scatter: every rank its block, from the root.

#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/calls/uneven_blocks.hpp"

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

/// What a rank brings to a scatterv and where it wants the result; null where MPI ignores or forbids it.
class UnevenSides {
 public:
  UnevenSides(const Scatterv& call, int ranks, int me) {
    const bool is_root = me == call.root;
    if (is_root && is_valid(call.send, ranks) && is_receive_valid(call.receive, true)) send_.emplace(call.send, ranks);
    are_missing_ = drop_missing(send_);
    if (is_receive_valid(call.receive, send_.has_value())) receive_ = find_output(call.receive, send(), me);
    are_missing_ = drop_missing(receive_) || are_missing_;
  }
  const Side* send() const { return address_of(send_); }
  const Side* receive() const { return address_of(receive_); }
  Sides both() const { return {.input = send(), .output = receive(), .are_missing = are_missing_}; }

 private:
  std::optional<Side> send_, receive_;
  bool are_missing_;
};

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
  const UnevenSides sides(call, ranks, me);
  const plan::Problem problem{Operation::scatter, 0, Rank(call.root)};
  auto [is_over, code, sizes] = try_uneven_blocks(*communicator, call.comm, problem, sides.both());
  if (is_over) return code;
  if (communicator->engine()->leaves_long_blocks(Operation::scatter))
    return leave_uneven(*communicator, Operation::scatter);
  if (sizes.empty()) {
    sizes = sizes_of(sides.send(), ranks);
    if (const int failed = share_sizes(*communicator, call.comm, call.root, sizes); failed != MPI_SUCCESS)
      return failed;
  }
  if (!are_known(sizes) || sides.receive() == nullptr) return refuse_arguments(Operation::scatter);
  const bool is_mismatched = sides.receive()->bytes() != sizes[static_cast<std::size_t>(me)];
  return serve(*communicator, call.comm, make_uneven(Operation::scatter, call.root, std::move(sizes)),
               {.input = sides.send(), .output = sides.receive(), .is_mismatched = is_mismatched});
}

}  // namespace espalier::mpi
