// Alltoall: a block from every rank to every rank.

#include "mpi/calls/call_of.hpp"
#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/calls/uneven_blocks.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

/// Both sides of an alltoallv or alltoallw.
class SidesOfRows {
 public:
  template <class Call>
  SidesOfRows(const Call& call, int ranks)
      : receive_(std::in_place, call.receive, ranks), is_in_place_(call.send.buffer == MPI_IN_PLACE) {
    if (is_in_place_)
      send_ = receive_;
    else
      send_.emplace(call.send, ranks);
    are_missing_ = send_->is_missing() || receive_->is_missing();
    if (!are_missing_) return;
    send_.reset();
    receive_.reset();
  }
  bool are_missing() const { return are_missing_; }
  const Side* send() const { return address_of(send_); }
  const Side* receive() const { return address_of(receive_); }
  Sides both() const {
    return {.input = send(), .output = receive(), .must_copy = is_in_place_, .are_missing = are_missing_};
  }

 private:
  std::optional<Side> send_, receive_;
  bool is_in_place_, are_missing_;
};

template <class Call>
bool are_allowed(const Call& call, int ranks) {
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  return is_valid(call.receive, ranks) && (in_place || is_valid(call.send, ranks));
}

/// Whether what the others send is what this rank expects.
bool fits(const Side& receive, const std::vector<Bytes>& matrix, int ranks, int me) {
  for (int from = 0; from < ranks; ++from)
    if (receive.block_bytes(from) != matrix[static_cast<std::size_t>(from * ranks + me)]) return false;
  return true;
}

/// Nothing where a look at the sides is due.
std::optional<UnevenAttempt> try_ready(Communicator& communicator, const Alltoallv& call) {
  const Bytes longest = longest_uneven(communicator, Operation::alltoall);
  const int ranks = communicator.ranks();
  ReadyBlocks input, output;
  if (longest == 0 || is_forbidden_alias(call) || !input.take(call.send, ranks, longest) ||
      !output.take(call.receive, ranks, longest))
    return std::nullopt;
  return run_ready_blocks(communicator, call.comm, Operation::alltoall, 0, &input, &output);
}

/// A type for each block is a look at each.
std::optional<UnevenAttempt> try_ready(Communicator&, const Alltoallw&) { return std::nullopt; }

/// With sizes that all know.
std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const SidesOfRows& sides, std::vector<Bytes> matrix,
                         Start* start) {
  const int ranks = communicator.ranks(), me = communicator.rank();
  if (!are_known(matrix)) return refuse_unknown(comm, Operation::alltoall, sides.are_missing());
  Sides both = sides.both();
  both.differ = !fits(*sides.receive(), matrix, ranks, me);
  const plan::Problem problem = make_uneven(Operation::alltoall, 0, std::move(matrix));
  if (start == nullptr) communicator.engine()->overlook(problem);
  return serve(communicator, comm, problem, both, start);
}

/// With blocks of any sizes.
template <class Call>
std::optional<int> try_uneven(Communicator& communicator, const Call& call, Start* start) {
  const int ranks = communicator.ranks();
  if (ranks > most_exchanging_ranks) return leave(Operation::alltoall, too_many_ranks);
  std::optional<UnevenAttempt> attempt;
  if (start == nullptr) attempt = try_ready(communicator, call);
  if (attempt && attempt->is_over) return attempt->code;
  const plan::Call made = call_of(call);
  const ToldAs shown(&made);
  if (!are_allowed(call, ranks) || is_forbidden_alias(call)) return refuse_arguments(Operation::alltoall);
  const SidesOfRows sides(call, ranks);
  if (refuses_missing && sides.are_missing()) return refuse_arguments(Operation::alltoall);
  if (start != nullptr)
    return share_sizes_first(communicator, Operation::alltoall, 0, sizes_of(sides.send(), ranks), *start,
                             [=, &communicator](std::vector<Bytes> matrix) {
                               return serve(communicator, call.comm, SidesOfRows(call, ranks), std::move(matrix),
                                            start);
                             });
  if (!attempt) attempt = try_uneven_blocks(communicator, call.comm, Operation::alltoall, 0, sides.both());
  if (attempt->is_over) return attempt->code;
  std::vector<Bytes> matrix = std::move(attempt->sizes);
  if (communicator.engine()->decider().leaves_long_blocks(Operation::alltoall))
    return leave_uneven(communicator, Operation::alltoall);
  if (const int failed = share_rows(communicator, call.comm, sizes_of(sides.send(), ranks), matrix);
      failed != MPI_SUCCESS)
    return failed;
  return serve(communicator, call.comm, sides, std::move(matrix), nullptr);
}

}  // namespace

std::optional<int> try_call(Communicator& communicator, const Alltoall& call, Start* start) {
  const bool in_place = call.send.buffer == MPI_IN_PLACE;
  if (!is_valid(call.receive) || !(in_place || is_valid(call.send))) return refuse_arguments(Operation::alltoall);
  const Side receive(call.receive, communicator.ranks());
  const Side send(in_place ? call.receive : call.send, communicator.ranks());
  if (send.is_missing() || receive.is_missing() || (!in_place && is_forbidden_alias(send, receive, 0)))
    return refuse_arguments(Operation::alltoall);
  const Bytes sent = send.block_bytes(0), bytes = sent == 0 ? receive.block_bytes(0) : sent;  // as serve_blocks()
  return serve(communicator, call.comm, {Operation::alltoall, bytes},
               {.input = &send, .output = &receive, .must_copy = in_place, .differ = send.bytes() != receive.bytes()},
               start);
}

std::optional<int> try_call(Communicator& communicator, const Alltoallv& call, Start* start) {
  return try_uneven(communicator, call, start);
}

std::optional<int> try_call(Communicator& communicator, const Alltoallw& call, Start* start) {
  return try_uneven(communicator, call, start);
}

}  // namespace espalier::mpi
