#include "mpi/calls/short_blocks.hpp"

#include <array>

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

}  // namespace

std::optional<int> try_short_blocks(Communicator& communicator, MPI_Comm comm, const plan::Problem& problem,
                                    const Side* send, const Side* receive) {
  Engine& engine = *communicator.engine();
  const Bytes longest = engine.longest_short_block(problem.operation);
  if (longest == 0) return std::nullopt;
  if (communicator.is_broken) return fail(communicator, comm);
  if (const int code = check_committed({.input = send, .output = receive}, comm); code != MPI_SUCCESS) return code;
  PlainBlocks input(send, longest), output(receive, longest);
  std::byte* const memory = communicator.packed().take(input.packed_bytes() + output.packed_bytes());
  if (input.is_packed())
    if (const int code = send->pack(memory, comm); code != MPI_SUCCESS) return code;
  const ShortOutcome outcome = engine.run_short_blocks(problem.operation, problem.root, input.place(memory),
                                                       output.place(memory + input.packed_bytes()));
  if (outcome == ShortOutcome::too_long) return std::nullopt;
  if (outcome == ShortOutcome::mismatched) return report_mismatch(comm);
  return output.is_packed() ? receive->unpack(memory + input.packed_bytes(), comm) : MPI_SUCCESS;
}

}  // namespace espalier::mpi
