#include "mpi/calls/short_blocks.hpp"

#include <array>

#include "mpi/calls/counts.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using execute::Block;
using execute::MaybeBlocks;
using execute::ShortOutcome;

/// A side's blocks as plain bytes: where the caller has them, or in memory for packed data.
class PlainBlocks {
 public:
  /// No blocks where there is no side, or where they are too long to be packed for nothing.
  PlainBlocks(const Side* side, Bytes longest) : side_(side) {
    for (int b = 0; side_ != nullptr && b < side_->blocks(); ++b) {
      blocks_[static_cast<std::size_t>(b)].bytes = side_->block_bytes(b);
      if (side_->block_bytes(b) > longest) side_ = nullptr;
    }
  }

  bool has_blocks() const { return side_ != nullptr; }
  bool is_packed() const { return side_ != nullptr && !side_->has_plain_blocks(); }
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
  std::array<Block, execute::most_short_ranks> blocks_;
};

/// Room for what the root tells when blocks are not short; there, what it tells: the sizes on its side.
class Told {
 public:
  Told(const Communicator& communicator, const plan::Problem& problem)
      : count_(execute::tells_sizes(problem.operation, communicator.ranks())
                   ? static_cast<std::size_t>(communicator.ranks())
                   : 0) {}

  void tell(const Side* side) {
    for (std::size_t r = 0; r < count_; ++r)
      all_[r] = side == nullptr ? unknown_size : side->block_bytes(static_cast<int>(r));
  }
  std::span<Bytes> sizes() { return {all_.data(), count_}; }

 private:
  std::size_t count_;
  std::array<Bytes, execute::most_told_ranks> all_;
};

}  // namespace

std::optional<int> try_short_blocks(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem,
                                    const Side* send, const Side* receive, std::vector<Bytes>& sizes) {
  Engine& engine = *communicator.engine();
  const Bytes longest = engine.longest_short_block(problem.operation);
  if (longest == 0) return std::nullopt;
  if (communicator.is_broken) return fail(communicator, comm);
  if (const int code = check_committed({.input = send, .output = receive}, comm); code != MPI_SUCCESS) return code;
  PlainBlocks input(send, longest), output(receive, longest);
  std::byte* const memory = communicator.packed().take(input.packed_bytes() + output.packed_bytes());
  if (input.is_packed())
    if (const int code = send->pack(memory, comm); code != MPI_SUCCESS) return code;
  Told told(communicator, problem);
  const bool is_scatter = problem.operation == plan::Operation::scatter;
  const bool is_root = problem.root == Rank(communicator.rank());
  if (is_root && !(is_scatter ? input : output).has_blocks()) told.tell(is_scatter ? send : receive);
  const ShortOutcome outcome = engine.run_short_blocks(problem.operation, problem.root, input.place(memory),
                                                       output.place(memory + input.packed_bytes()), told.sizes());
  if (outcome == ShortOutcome::too_long) {
    sizes.assign(told.sizes().begin(), told.sizes().end());
    return std::nullopt;
  }
  if (outcome == ShortOutcome::mismatched) return report_mismatch(comm);
  return output.is_packed() ? receive->unpack(memory + input.packed_bytes(), comm) : MPI_SUCCESS;
}

}  // namespace espalier::mpi
