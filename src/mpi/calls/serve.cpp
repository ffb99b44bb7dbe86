#include "mpi/calls/serve.hpp"

#include <atomic>

#include "base/error.hpp"
#include "mpi/calls/counts.hpp"
#include "mpi/calls/fitted.hpp"
#include "mpi/decide/selection.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/messages/network.hpp"
#include "mpi/run/progress/health.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

/// "MPI_Bcast of 64 bytes, root 0".
std::string describe(const Problem& problem) {
  plan::Call call = plan::call_of(problem);
  if (call.has_counts()) call.bytes.reset();  // a mean is nobody's size
  return plan::describe(call);
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

void pass_on(Communicator& communicator, Entry& entry) {
  communicator.engine()->pass_on(entry);
  if (entry.is_passed_on) communicator.note_selected();
}

Entry* prepare_run(Communicator& communicator, const Problem& problem) {
  Entry& entry = communicator.engine()->prepare_run(problem);
  if (entry.kind != Entry::Kind::native && communicator.engine()->may_run(entry)) return &entry;
  pass_on(communicator, entry);
  return nullptr;
}

std::optional<int> serve(Communicator& communicator, MPI_Comm comm, const Problem& problem, const Sides& sides,
                         Start* start) {
  if (const int code = check_committed(sides, comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, problem, start);
  if (entry == nullptr) return std::nullopt;
  if (sides.differ && start == nullptr && fits_lines(*entry, sides))
    return run_in_lines(communicator, comm, *entry, sides);
  if (sides.differ) return carry_out<Fitted>(communicator, comm, *entry, start, sides);
  const auto is_plain = [](const Side* side) { return side == nullptr || side->is_plain(); };
  const auto plain = [](const Side* side) { return side == nullptr ? nullptr : side->plain(); };
  if (!is_plain(sides.input) || !is_plain(sides.output) || sides.must_copy)
    return carry_out<Packed>(communicator, comm, *entry, start, sides);
  if (start != nullptr)
    return carry_out<Unstaged>(communicator, comm, *entry, start, plain(sides.input), plain(sides.output));
  return run(communicator, comm, *entry, plain(sides.input), plain(sides.output));
}

std::optional<int> run_staged(Communicator& communicator, MPI_Comm comm, Entry& entry, Staging& staging) {
  if (communicator.is_broken) return fail(communicator, comm);
  std::optional<int> code = staging.fetch(comm);
  if (code == MPI_SUCCESS) {
    const execute::Buffers& buffers = staging.buffers();
    Engine& engine = *communicator.engine();
    execute::Ending ending = engine.attempt(entry, buffers.input, buffers.output, staging.reducer());
    if (ending.kind != execute::Ending::done)
      ending = engine.settle(entry, buffers.input, buffers.output, entry.problem.bytes, ending);
    const bool has_moved = ending.kind != execute::Ending::broken && ending.kind != execute::Ending::native;
    if (has_moved) code = staging.deliver(comm, ending);
    if (code == MPI_SUCCESS && ending.kind != execute::Ending::done)
      code = conclude(communicator, comm, &entry.problem, ending);
  }
  communicator.packed().trim();
  return code;
}

int fail_for_size(MPI_Comm comm, const std::string& call) {
  static std::atomic<bool> is_said = false;
  int rank = 0;
  native().Comm_rank(comm, &rank);
  if (!is_said.exchange(true, std::memory_order_relaxed))
    Library::get().say_once(call + ", made by rank " + std::to_string(rank) +
                            " of its communicator, does not fit what other ranks send (MPI_ERR_TRUNCATE); "
                            "ESPALIER_CHECK=1 names two ranks that differ");
  return report(comm, MPI_ERR_TRUNCATE);
}

std::optional<int> conclude(Communicator& communicator, MPI_Comm comm, const Problem* problem,
                            const execute::Ending& ending) {
  switch (ending.kind) {
    case execute::Ending::truncated:
      communicator.is_broken = communicator.engine()->is_broken();
      return fail_for_size(comm, problem != nullptr ? describe(*problem) : "A collective that does not block");
    case execute::Ending::broken: return fail(communicator, comm);
    case execute::Ending::native: return std::nullopt;
    case execute::Ending::done:
    case execute::Ending::shorter:
    case execute::Ending::other: break;
  }
  return MPI_SUCCESS;
}

int fail(Communicator& communicator, MPI_Comm comm) {
  communicator.is_broken = true;
  if (const int failure = await_failure(comm); failure != MPI_SUCCESS) return report(comm, failure);
  const std::string error = communicator.engine()->why_broken();
  const std::string reason =
      !error.empty() ? "a message of the MPI's failed in the middle of a collective (" + error + ")"
                     : "a transport broke in the middle of a collective, or its ranks' sizes did not fit together";
  Library::get().say_once(reason + "; the communicator cannot be used any more");
  return report(comm, MPI_ERR_OTHER);
}

std::string describe_call(Problem problem, bool is_uneven, bool may_wait, MPI_Comm comm) {
  Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr) return "unknown until the first collective";
  if (communicator->engine() == nullptr) return "native: " + communicator->refusal();
  if (problem.root.value >= communicator->ranks()) throw Error("no such root");
  if (plan::has_edges(problem.operation)) {
    const Problem* const known = describe_along_edges(*communicator, problem.operation, problem.bytes, is_uneven);
    return known != nullptr ? communicator->engine()->describe(*known, may_wait)
                            : "unknown until the first neighbourhood collective";
  }
  if (is_uneven) problem.counts = deal_unevenly(problem, communicator->ranks());
  return communicator->engine()->describe(problem, may_wait);
}

std::optional<tune::Measured> find_measured(const Problem& problem, MPI_Comm comm) {
  const Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr || communicator->engine() == nullptr) return std::nullopt;
  return communicator->engine()->find_measured(problem);
}

std::string describe_transport(MPI_Comm comm) {
  const Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr || communicator->engine() == nullptr) return "";
  const std::optional<Transport> transport = communicator->engine()->transport();
  return transport ? name(*transport) : "";
}

void choose(Operation operation, const std::string& text, MPI_Comm comm) {
  ProgressQueue::get().finish(comm);
  std::optional<Selection> selection;
  if (!text.empty()) selection = parse_selection(operation, text);
  Communicator* communicator = Communicator::find_set_up(comm);
  if (communicator != nullptr && communicator->engine() != nullptr)
    communicator->select(operation, std::move(selection));
}

}  // namespace espalier::mpi
