#include "mpi/calls/uneven_blocks.hpp"

#include <array>

#include "mpi/calls/counts.hpp"

namespace espalier::mpi {
namespace {

using execute::Block;
using execute::MaybeBlocks;
using execute::UnevenKind;
using execute::UnevenOutcome;

/// A side's blocks as plain bytes: where the caller has them, or in memory for packed data.
class PlainBlocks {
 public:
  /// No blocks where there is no side, or where they are too long to be packed for nothing. With `must_copy` they are
  /// packed although they are plain.
  PlainBlocks(const Side* side, Bytes longest, bool must_copy = false) : side_(side) {
    for (int b = 0; side_ != nullptr && b < side_->blocks(); ++b) {
      blocks_[static_cast<std::size_t>(b)].bytes = side_->block_bytes(b);
      if (side_->block_bytes(b) > longest) side_ = nullptr;
    }
    is_packed_ = side_ != nullptr && (must_copy || !side_->has_plain_blocks());
  }

  bool has_blocks() const { return side_ != nullptr; }
  bool is_packed() const { return is_packed_; }
  Bytes packed_bytes() const { return is_packed() ? side_->bytes() : 0; }

  /// `memory` has room for packed_bytes().
  MaybeBlocks place(std::byte* memory) {
    if (side_ == nullptr) return std::nullopt;
    const auto count = static_cast<std::size_t>(side_->blocks());
    for (std::size_t b = 0; b < count; memory += blocks_[b++].bytes)
      blocks_[b].data = is_packed() ? memory : side_->plain_block(static_cast<int>(b));
    return std::span(blocks_.data(), count);
  }

 private:
  const Side* side_;
  bool is_packed_;
  std::array<Block, execute::most_uneven_ranks> blocks_;
};

/// Room for what the root tells when blocks are too long; there, what it tells: the sizes on its side.
class Told {
 public:
  Told(const UnevenKind& kind, int ranks)
      : count_(execute::tells_sizes(kind, ranks) ? static_cast<std::size_t>(ranks) : 0) {}

  void tell(const Side* side) {
    for (std::size_t r = 0; r < count_; ++r)
      all_[r] = side == nullptr ? unknown_size : side->block_bytes(static_cast<int>(r));
  }
  std::span<Bytes> sizes() { return {all_.data(), count_}; }

 private:
  std::size_t count_;
  std::array<Bytes, execute::most_told_ranks> all_;
};

/// MPI's code of a call that was done.
std::optional<int> conclude(UnevenOutcome outcome, Communicator& communicator, MPI_Comm comm,
                            const plan::Problem& problem, const Sides& sides) {
  switch (outcome) {
    case UnevenOutcome::mismatched: return report(comm, MPI_ERR_TRUNCATE);
    case UnevenOutcome::broken: return fail(communicator, comm);
    case UnevenOutcome::unknown:
      if (sides.are_missing) return report(comm, MPI_ERR_BUFFER);
      return refuse_arguments(problem.operation);
    default: return MPI_SUCCESS;
  }
}

}  // namespace

bool drop_missing(std::optional<Side>& side) {
  const bool is_missing = side && side->is_missing();
  if (is_missing) side.reset();
  return is_missing;
}

UnevenAttempt try_uneven_blocks(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem,
                                const Sides& sides) {
  Engine& engine = *communicator.engine();
  const UnevenKind kind{problem.operation, engine.longest_block(problem.operation)};
  if (kind.longest == 0) return {};
  if (communicator.is_broken) return {true, fail(communicator, comm)};
  if (const int code = check_committed(sides, comm); code != MPI_SUCCESS) return {true, code};
  PlainBlocks input(sides.input, kind.longest, sides.must_copy), output(sides.output, kind.longest);
  std::byte* const memory = communicator.packed().take(input.packed_bytes() + output.packed_bytes());
  if (input.is_packed())
    if (const int code = sides.input->pack(memory, comm); code != MPI_SUCCESS) return {true, code};
  Told told(kind, communicator.ranks());
  const bool is_scatter = problem.operation == plan::Operation::scatter;
  const bool is_root = problem.root == Rank(communicator.rank());
  if (is_root && !(is_scatter ? input : output).has_blocks()) told.tell(is_scatter ? sides.input : sides.output);
  const UnevenOutcome outcome = engine.run_uneven_blocks(
      problem.operation,
      {LocalRank(problem.root.value), input.place(memory), output.place(memory + input.packed_bytes()), told.sizes()});
  if (outcome == UnevenOutcome::too_long) return {.sizes = {told.sizes().begin(), told.sizes().end()}};
  std::optional<int> code = conclude(outcome, communicator, comm, problem, sides);
  if (code == MPI_SUCCESS && output.is_packed()) code = sides.output->unpack(memory + input.packed_bytes(), comm);
  communicator.packed().trim();
  return {true, code};
}

}  // namespace espalier::mpi
