// Reduce, allreduce, reduce_scatter, scan, exscan: what the ranks' vectors come to, element by element.

#include <algorithm>
#include <cstring>

#include "mpi/buffers/arithmetic.hpp"
#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

constexpr const char* not_ours = "an operation or datatype that only MPI itself reduces";
constexpr const char* strict = "ESPALIER_STRICT keeps the order of the MPI library";

/// Elements that this rank contributes and receives; the output is absent where MPI ignores it.
struct Operands {
  Run input;
  std::optional<Run> output;
  bool in_place;
};

/// A copy of elements with gaps, side by side as their extent says: MPI's operations find them as in the caller's
/// memory, and gaps in the caller's memory stay as they are.
class Replica {
 public:
  /// `memory` and `packed` have room for `run.count` elements.
  Replica(const Run& run, const Arithmetic& arithmetic, std::byte* memory, std::byte* packed, MPI_Comm comm)
      : theirs_(run), ours_({memory - arithmetic.lower_bound, run.count, run.type}), packed_(packed), comm_(comm) {
    std::memset(memory, 0, multiply(run.count, static_cast<MPI_Count>(arithmetic.element)));
  }
  int fetch() const { return copy(theirs_, ours_); }
  int deliver() const { return copy(ours_, theirs_); }

 private:
  int copy(const Side& from, const Side& into) const {
    const int code = from.pack(packed_, comm_);
    return code == MPI_SUCCESS ? into.unpack(packed_, comm_) : code;
  }

  Side theirs_;
  Side ours_;
  std::byte* packed_;
  MPI_Comm comm_;
};

Bytes room_for(const Run& run, const Arithmetic& arithmetic) {
  return align_to_line(multiply(run.count, static_cast<MPI_Count>(arithmetic.element)));
}

/// Elements with gaps: replicas of both vectors.
class Replicated final : public Staging {
 public:
  Replicated(const Stage& stage, MPI_Comm comm, const Operands& operands, const Arithmetic& arithmetic)
      : arithmetic_(arithmetic) {
    const Bytes in = room_for(operands.input, arithmetic);
    const Bytes out = operands.output ? room_for(*operands.output, arithmetic) : 0;
    std::byte* const memory = stage.memory.take(in + out + std::max(in, out));
    input_.emplace(operands.input, arithmetic, memory, memory + in + out, comm);
    if (operands.output) output_.emplace(*operands.output, arithmetic, memory + in, memory + in + out, comm);
    buffers_ = {memory, memory + in};
  }
  const execute::Reducer* reducer() const override { return &combiner_; }
  int fetch(MPI_Comm) override { return input_->fetch(); }
  int deliver(MPI_Comm, execute::Ending& ending) override {
    return output_ && ending.kind == execute::Ending::done ? output_->deliver() : MPI_SUCCESS;
  }

 private:
  Arithmetic arithmetic_;
  Combiner combiner_{arithmetic_};
  std::optional<Replica> input_, output_;
};

std::byte* memory_of(const Run& run) { return const_cast<std::byte*>(static_cast<const std::byte*>(run.buffer)); }

/// Elements without gaps, where they lie; but for an input that must survive while the output is written over it.
class Dense final : public Staging {
 public:
  Dense(const Stage& stage, const Operands& operands, const Arithmetic& arithmetic, bool must_copy)
      : arithmetic_(arithmetic) {
    buffers_ = {memory_of(operands.input), operands.output ? memory_of(*operands.output) : nullptr};
    if (!must_copy) return;
    const Bytes bytes = multiply(operands.input.count, static_cast<MPI_Count>(arithmetic.element));
    std::byte* const copied = stage.memory.take(bytes);
    if (bytes > 0) std::memcpy(copied, buffers_.input, bytes);
    buffers_.input = copied;
  }
  bool is_in_place() const override { return true; }
  const execute::Reducer* reducer() const override { return &combiner_; }

 private:
  Arithmetic arithmetic_;
  Combiner combiner_{arithmetic_};
};

std::optional<int> run_dense(Communicator& communicator, MPI_Comm comm, Entry& entry, const Operands& operands,
                             const Arithmetic& arithmetic, Start* start) {
  const bool must_copy = operands.in_place && entry.problem.operation == Operation::reduce_scatter;
  if (must_copy || start != nullptr)
    return carry_out<Dense>(communicator, comm, entry, start, operands, arithmetic, must_copy);
  const Combiner combiner(arithmetic);
  std::byte* const output = operands.output ? memory_of(*operands.output) : nullptr;
  return run(communicator, comm, entry, memory_of(operands.input), output, &combiner);
}

// Data without gaps are at an address; others may be described by absolute addresses, from MPI_BOTTOM.
bool is_missing(const Run& run, const Arithmetic& arithmetic) {
  return run.buffer == nullptr && run.count > 0 && arithmetic.is_dense;
}

bool are_forbidden(const Operands& operands, const Arithmetic& arithmetic) {
  if (is_missing(operands.input, arithmetic)) return true;
  if (!operands.output) return false;
  const bool is_alias = refuses_aliases && !operands.in_place && operands.output->count > 0 &&
                        operands.input.buffer == operands.output->buffer;
  return is_alias || is_missing(*operands.output, arithmetic);
}

std::optional<int> reduce(Communicator& communicator, MPI_Comm comm, const Problem& problem, const Operands& operands,
                          const Arithmetic& arithmetic, Start* start) {
  if (are_forbidden(operands, arithmetic)) return refuse_arguments(problem.operation);
  if (arithmetic.depends_on_order && communicator.ranks() > 2 && Library::get().policy().strict)
    return leave(problem.operation, strict);
  if (!arithmetic.is_named)
    if (const int code = Side(operands.input).check_committed(comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, problem, start);
  if (entry == nullptr) return std::nullopt;
  if (arithmetic.is_dense) return run_dense(communicator, comm, *entry, operands, arithmetic, start);
  return carry_out<Replicated>(communicator, comm, *entry, start, comm, operands, arithmetic);
}

bool has_output(const Reduction& call, int rank) {
  return call.operation == Operation::reduce   ? rank == call.root
         : call.operation == Operation::exscan ? rank != 0
                                               : true;
}

/// Rank 0 of an exscan receives nothing, but MPICH looks at the buffer all the same.
bool is_refused_for_nothing(const Reduction& call, int rank) {
  if (!refuses_aliases || has_output(call, rank) || call.count <= 0) return false;
  return call.send == call.receive || call.receive == nullptr;
}

}  // namespace

std::optional<int> try_call(Communicator& communicator, const Reduction& call, Start* start) {
  const int ranks = communicator.ranks(), me = communicator.rank();
  const bool in_place = call.send == MPI_IN_PLACE;
  const bool receives = call.operation != Operation::reduce || me == call.root;
  if (call.count < 0 || call.type == native().datatype_null || call.root < 0 || call.root >= ranks ||
      (in_place && !receives) || (receives && call.receive == MPI_IN_PLACE))
    return refuse_arguments(call.operation);
  if (call.operation == Operation::exscan && is_refused_for_nothing(call, me)) return refuse_arguments(call.operation);
  const std::optional<Arithmetic> arithmetic = find_arithmetic(call.op, call.type);
  if (!arithmetic) return leave(call.operation, not_ours);
  const int blocks = call.operation == Operation::reduce_scatter ? ranks : 1;
  Operands operands{{in_place ? call.receive : call.send, call.count * blocks, call.type}, std::nullopt, in_place};
  if (has_output(call, me)) operands.output = {call.receive, call.count, call.type};
  const Bytes bytes = multiply(call.count, static_cast<MPI_Count>(arithmetic->element));
  Problem problem{call.operation, bytes, Rank(call.root)};
  set_arithmetic(problem, *arithmetic);
  return reduce(communicator, call.comm, problem, operands, *arithmetic, start);
}

std::optional<int> try_call(Communicator& communicator, const ReduceScatter& call, Start* start) {
  const int ranks = communicator.ranks(), me = communicator.rank();
  const bool in_place = call.send == MPI_IN_PLACE;
  if (call.counts.is_missing() || call.type == native().datatype_null || call.receive == MPI_IN_PLACE)
    return refuse_arguments(Operation::reduce_scatter);
  const std::optional<Arithmetic> arithmetic = find_arithmetic(call.op, call.type);
  if (!arithmetic) return leave(Operation::reduce_scatter, not_ours);
  const auto deal = [&] { return deal_of(call.counts, ranks, static_cast<MPI_Count>(arithmetic->element)); };
  if (communicator.engine()->passes_on(Operation::reduce_scatter, deal)) return std::nullopt;
  std::vector<Bytes> sizes;
  sizes.reserve(static_cast<std::size_t>(ranks));
  MPI_Count all = 0;
  for (int r = 0; r < ranks; ++r) {
    if (call.counts[r] < 0) return refuse_arguments(Operation::reduce_scatter);
    sizes.push_back(multiply(call.counts[r], static_cast<MPI_Count>(arithmetic->element)));
    all += call.counts[r];
  }
  const Operands operands{
      {in_place ? call.receive : call.send, all, call.type}, Run{call.receive, call.counts[me], call.type}, in_place};
  Problem problem = make_uneven(Operation::reduce_scatter, 0, std::move(sizes));
  set_arithmetic(problem, *arithmetic);
  problem.bytes = (problem.bytes + problem.element - 1) / problem.element * problem.element;
  if (start == nullptr) communicator.engine()->overlook(problem);
  return reduce(communicator, call.comm, problem, operands, *arithmetic, start);
}

}  // namespace espalier::mpi
