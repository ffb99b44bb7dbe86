#include "mpi/calls/serve.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi/calls/counts.hpp"
#include "mpi/health.hpp"
#include "mpi/library.hpp"
#include "mpi/selection.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

Bytes align(Bytes bytes) { return (bytes + 63) / 64 * 64; }

/// A call whose data must be staged: copied to plain bytes, and from there.
int run_staged(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides) {
  const auto is_staged = [&](const Side* side) {
    return side != nullptr && (!side->is_plain() || sides.is_mismatched);
  };
  const Rank me(communicator.rank());
  const bool stages_input = is_staged(sides.input) || sides.must_copy;
  const bool stages_output = is_staged(sides.output);
  const Bytes in = stages_input ? align(plan::input_bytes(entry.problem, communicator.ranks(), me)) : 0;
  const Bytes out = stages_output ? plan::output_bytes(entry.problem, communicator.ranks(), me) : 0;
  std::byte* const staged = communicator.packed().take(in + out);
  std::byte* input = sides.input == nullptr ? nullptr : stages_input ? staged : sides.input->plain();
  std::byte* output = sides.output == nullptr ? nullptr : stages_output ? staged + in : sides.output->plain();
  int code = MPI_SUCCESS;
  if (sides.is_mismatched)
    std::fill_n(staged, in, std::byte{0});
  else if (stages_input)
    code = sides.input->pack(input, comm);
  if (code == MPI_SUCCESS) code = run(communicator, comm, entry, input, output);
  if (code == MPI_SUCCESS && stages_output && !sides.is_mismatched) code = sides.output->unpack(output, comm);
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

bool is_forbidden_alias(const Side& part, const Side& whole, Bytes offset) {
  return refuses_aliases && part.is_plain() && whole.is_plain() && part.bytes() > 0 && whole.bytes() > 0 &&
         part.plain() == whole.plain() + offset;
}

std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const Problem& problem, const Sides& sides) {
  Entry* entry = prepare(communicator, problem);
  if (entry == nullptr) return std::nullopt;
  if (const int code = check_committed(sides, comm); code != MPI_SUCCESS) return code;
  const auto is_plain = [](const Side* side) { return side == nullptr || side->is_plain(); };
  const auto plain = [](const Side* side) { return side == nullptr ? nullptr : side->plain(); };
  if (is_plain(sides.input) && is_plain(sides.output) && !sides.must_copy && !sides.is_mismatched)
    return run(communicator, comm, *entry, plain(sides.input), plain(sides.output));
  const int code = run_staged(communicator, comm, *entry, sides);
  return code == MPI_SUCCESS && sides.is_mismatched ? report(comm, MPI_ERR_TRUNCATE) : code;
}

int fail(Communicator& communicator, MPI_Comm comm) {
  communicator.is_broken = true;
  if (const int failure = await_failure(comm); failure != MPI_SUCCESS) return report(comm, failure);
  Library::get().say_once("a transport broke in the middle of a collective; the communicator cannot be used any more");
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
