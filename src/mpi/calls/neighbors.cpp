// Neighbourhood collectives: blocks along the edges of the communicator's process topology.

#include "mpi/setup/neighbors.hpp"
#include "mpi/calls/edge_side.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/patience.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

Operation operation_of(const NeighborAllgather&) { return Operation::neighbor_allgather; }
Operation operation_of(const NeighborAllgatherv&) { return Operation::neighbor_allgather; }
Operation operation_of(const NeighborAlltoall&) { return Operation::neighbor_alltoall; }
Operation operation_of(const NeighborAlltoallv&) { return Operation::neighbor_alltoall; }
Operation operation_of(const NeighborAlltoallw&) { return Operation::neighbor_alltoall; }

bool is_valid(const Run& run, int) { return mpi::is_valid(run); }
template <class Parts>
bool is_valid(const Parts& parts, int blocks) {
  return mpi::is_valid(parts, blocks);
}

/// Both sides of a call, and whether MPI wants all edges to be of one size.
struct EdgeSides {
  EdgeSide input;
  EdgeSide output;
  bool are_equal;
};

class PackedEdges final : public Staging {
 public:
  /// A persistent request's may outlive the communicator whose neighbours these are.
  PackedEdges(const Stage& stage, const EdgeSides& sides, const std::shared_ptr<Neighbors>& neighbors)
      : neighbors_(neighbors), sides_(sides) {
    const Bytes in = align_to_line(sides.input.staged_bytes());
    std::byte* const staged = stage.memory.take(in + sides.output.staged_bytes());
    buffers_.input = sides.input.is_staged() ? staged : sides.input.base();
    buffers_.output = sides.output.is_staged() ? staged + in : sides.output.base();
  }
  bool is_in_place() const override { return !sides_.output.is_staged(); }
  int fetch(MPI_Comm comm) override {
    return sides_.input.is_staged() ? sides_.input.pack(buffers_.input, comm) : MPI_SUCCESS;
  }
  int deliver(MPI_Comm comm, execute::Ending&) override {
    return sides_.output.is_staged() ? sides_.output.unpack(buffers_.output, comm) : MPI_SUCCESS;
  }

 private:
  std::shared_ptr<const Neighbors> neighbors_;  ///< of whose blocks the sides are
  EdgeSides sides_;
};

/// What a rank sends: one block to all, or one to each.
bool has_one_block(Operation operation) { return operation == Operation::neighbor_allgather; }

std::span<const int> sent_blocks(const Neighbors& neighbors, Operation operation) {
  static constexpr int first = 0;
  return has_one_block(operation) ? std::span(&first, 1) : std::span(neighbors.sent_blocks());
}

/// The same of plain blocks, one behind the other, whoever they are for.
struct PlainSides {
  struct Blocks {
    Bytes each;
    Bytes bytes(int) const { return each; }
    Bytes begin(int block) const { return static_cast<Bytes>(block) * each; }
  } input, output;
  bool are_equal;
};

/// Writes sizes and places into the edges that are kept for the operation. Of equal blocks a rank knows where they lie
/// with others, too.
template <class BothSides>
plan::Problem& describe_edges(Neighbors& neighbors, Operation operation, const BothSides& sides) {
  plan::Problem& problem = neighbors.problem(operation);
  const bool has_one = has_one_block(operation);
  auto edge = problem.edges.begin();
  for (const Neighbors::Outgoing& out : neighbors.out()) {
    if (out.to == neighbors.me()) continue;  // comes in
    const int block = has_one ? 0 : out.block;
    edge->bytes = sides.input.bytes(block);
    (edge++)->input_begin = sides.input.begin(block);
  }
  for (const Neighbors::Incoming& in : neighbors.in()) {
    const int block = has_one ? 0 : in.their_block;
    edge->bytes = sides.output.bytes(in.block);
    edge->output_begin = sides.output.begin(in.block);
    if (in.from == neighbors.me())
      edge->input_begin = sides.input.begin(block);
    else if (sides.are_equal)
      edge->input_begin = static_cast<Bytes>(block) * edge->bytes;
    ++edge;
  }
  problem.bytes = 0;
  if (sides.are_equal) problem.bytes = neighbors.out().empty() ? sides.output.bytes(0) : sides.input.bytes(0);
  return problem;
}

template <class Call>
std::optional<int> serve_edges(Communicator& communicator, const std::shared_ptr<Neighbors>& known, const Call& call,
                               Start* start) {
  Neighbors& neighbors = *known;
  const Operation operation = operation_of(call);
  const int sent = has_one_block(operation) ? 1 : neighbors.degrees().out, received = neighbors.degrees().in;
  if (!is_valid(call.send, sent) || !is_valid(call.receive, received)) return refuse_arguments(operation);
  constexpr bool are_equal = std::is_same_v<decltype(call.receive), Run>;
  const EdgeSides sides{{Side(call.send, sent), sent_blocks(neighbors, operation)},
                        {Side(call.receive, received), neighbors.received_blocks()},
                        are_equal};
  if (sides.input.side().is_missing() || sides.output.side().is_missing()) return refuse_arguments(operation);
  const Sides both{.input = &sides.input.side(), .output = &sides.output.side()};
  if (const int code = check_committed(both, call.comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, describe_edges(neighbors, operation, sides), start);
  if (entry == nullptr) return std::nullopt;
  if (sides.input.is_staged() || sides.output.is_staged())
    return carry_out<PackedEdges>(communicator, call.comm, *entry, start, sides, known);
  if (start != nullptr)
    return carry_out<Unstaged>(communicator, call.comm, *entry, start, sides.input.base(), sides.output.base());
  return run(communicator, call.comm, *entry, sides.input.base(), sides.output.base());
}

template <class Call>
std::optional<int> try_neighbors(Communicator& communicator, const Call& call, Start* start) {
  // A persistent request has a state of its own; neighbours are the communicator's.
  Communicator* const known = Communicator::find_existing(call.comm);
  Communicator& home = known != nullptr ? *known : communicator;
  if (home.neighbors() != nullptr) return serve_edges(communicator, home.neighbors(), call, start);
  if (!has_process_topology(call.comm)) return refuse_arguments(operation_of(call));
  auto set_up = std::make_unique<NeighborsSetUp>(home, call.comm);
  const auto go_on = [=, &communicator, &home] { return serve_edges(communicator, home.neighbors(), call, start); };
  if (start != nullptr) return start->prepare(std::move(set_up), go_on);
  const int code = wait_for([&] { return set_up->advance(true); });
  return code == MPI_SUCCESS ? go_on() : std::optional(code);
}

}  // namespace

const plan::Problem* describe_along_edges(Communicator& communicator, Operation operation, Bytes bytes,
                                          bool is_uneven) {
  if (communicator.neighbors() == nullptr) return nullptr;
  return &describe_edges(*communicator.neighbors(), operation, PlainSides{{bytes}, {bytes}, !is_uneven});
}

std::optional<int> try_call(Communicator& communicator, const NeighborAllgather& call, Start* start) {
  return try_neighbors(communicator, call, start);
}
std::optional<int> try_call(Communicator& communicator, const NeighborAllgatherv& call, Start* start) {
  return try_neighbors(communicator, call, start);
}
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoall& call, Start* start) {
  return try_neighbors(communicator, call, start);
}
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoallv& call, Start* start) {
  return try_neighbors(communicator, call, start);
}
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoallw& call, Start* start) {
  return try_neighbors(communicator, call, start);
}

}  // namespace espalier::mpi
