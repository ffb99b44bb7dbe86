#include "mpi/calls/serve.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi/calls/counts.hpp"
#include "mpi/calls/fitted.hpp"
#include "mpi/decide/selection.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/health.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

Bytes align(Bytes bytes) { return (bytes + 63) / 64 * 64; }

/// Runs, and gives the caller what came, which may be less than there is room for.
int run_and_take(Communicator& communicator, MPI_Comm comm, Entry& entry, const execute::Buffers& buffers,
                 bool is_staged, const Sides& sides) {
  if (communicator.is_broken) return fail(communicator, comm);
  const execute::Ending ending = communicator.engine()->run(entry, buffers.input, buffers.output);
  const bool is_short = ending.kind == execute::Ending::shorter && sides.output->blocks() == 1;
  int code = MPI_SUCCESS;
  if (is_staged && is_short) code = sides.output->front(ending.bytes).unpack(buffers.output, comm);
  if (is_staged && !is_short && ending.kind != execute::Ending::broken)
    code = sides.output->unpack(buffers.output, comm);
  return code == MPI_SUCCESS && ending.kind != execute::Ending::done ? conclude(communicator, comm, ending) : code;
}

/// A call whose data must be staged: copied to plain bytes, and from there.
int run_staged(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides) {
  const auto is_staged = [&](const Side* side) { return side != nullptr && !side->is_plain(); };
  const Rank me(communicator.rank());
  const bool stages_input = is_staged(sides.input) || sides.must_copy;
  const bool stages_output = is_staged(sides.output);
  const Bytes in = stages_input ? align(plan::input_bytes(entry.problem, communicator.ranks(), me)) : 0;
  const Bytes out = stages_output ? plan::output_bytes(entry.problem, communicator.ranks(), me) : 0;
  std::byte* const staged = communicator.packed().take(in + out);
  std::byte* input = sides.input == nullptr ? nullptr : stages_input ? staged : sides.input->plain();
  std::byte* output = sides.output == nullptr ? nullptr : stages_output ? staged + in : sides.output->plain();
  int code = MPI_SUCCESS;
  if (stages_input) code = sides.input->pack(input, comm);
  if (code == MPI_SUCCESS) code = run_and_take(communicator, comm, entry, {input, output}, stages_output, sides);
  communicator.packed().trim();
  return code;
}

}  // namespace

int report(MPI_Comm comm, int code) {
  native().Comm_call_errhandler(comm, code);
  return code;
}

std::optional<int> leave(Operation operation, const char* reason) {
  Library::get().statistics().add_native(operation, reason, 1);
  return std::nullopt;
}

std::optional<int> refuse_arguments(Operation operation) { return leave(operation, "arguments that MPI forbids"); }

bool is_forbidden_alias(const Side& part, const Side& whole, int block) {
  if (!refuses_aliases || part.block_bytes(0) == 0 || whole.block_bytes(block) == 0) return false;
  return (whole.has_parts() || part.block_bytes(0) == whole.block_bytes(block)) && part.is_at(whole, block);
}

std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const Problem& problem, const Sides& sides) {
  if (const int code = check_committed(sides, comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, problem);
  if (entry == nullptr) return std::nullopt;
  if (sides.differ) return run_fitted(communicator, comm, *entry, sides);
  const auto is_plain = [](const Side* side) { return side == nullptr || side->is_plain(); };
  const auto plain = [](const Side* side) { return side == nullptr ? nullptr : side->plain(); };
  if (is_plain(sides.input) && is_plain(sides.output) && !sides.must_copy)
    return run(communicator, comm, *entry, plain(sides.input), plain(sides.output));
  return run_staged(communicator, comm, *entry, sides);
}

int conclude(Communicator& communicator, MPI_Comm comm, const execute::Ending& ending) {
  switch (ending.kind) {
    case execute::Ending::truncated:
      communicator.is_broken = communicator.engine()->is_broken();
      return report(comm, MPI_ERR_TRUNCATE);
    case execute::Ending::broken: return fail(communicator, comm);
    case execute::Ending::done:
    case execute::Ending::shorter:
    case execute::Ending::other: break;
  }
  return MPI_SUCCESS;
}

int fail(Communicator& communicator, MPI_Comm comm) {
  communicator.is_broken = true;
  if (const int failure = await_failure(comm); failure != MPI_SUCCESS) return report(comm, failure);
  Library::get().say_once(
      "a transport broke in the middle of a collective, or its ranks' sizes did not fit together; the communicator "
      "cannot be used any more");
  return report(comm, MPI_ERR_OTHER);
}

std::string describe_call(Problem problem, bool is_uneven, MPI_Comm comm) {
  Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr) return "unknown until the first collective";
  if (communicator->engine() == nullptr) return "native: " + communicator->refusal();
  if (problem.root.value >= communicator->ranks()) throw Error("no such root");
  if (is_uneven) problem.counts = deal_unevenly(problem, communicator->ranks());
  return communicator->engine()->describe(problem);
}

std::string describe_transport(MPI_Comm comm) {
  const Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr || communicator->engine() == nullptr) return "";
  const std::optional<Transport> transport = communicator->engine()->transport();
  return transport ? name(*transport) : "";
}

void choose(Operation operation, const std::string& text, MPI_Comm comm) {
  std::optional<Selection> selection;
  if (!text.empty()) selection = parse_selection(operation, text);
  Communicator* communicator = Communicator::find_set_up(comm);
  if (communicator != nullptr && communicator->engine() != nullptr)
    communicator->select(operation, std::move(selection));
}

}  // namespace espalier::mpi
