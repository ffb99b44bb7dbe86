#include "mpi/calls/uneven_blocks.hpp"

#include <array>

#include "mpi/calls/counts.hpp"

namespace espalier::mpi {
namespace {

using execute::Block;
using execute::MaybeBlocks;
using execute::UnevenCall;
using execute::UnevenKind;
using execute::UnevenOutcome;

/// A side's blocks as plain bytes: where the caller has them, or in memory for packed data.
class PlainBlocks {
 public:
  /// No blocks where there is no side, or where they are too long to be packed for nothing. With `must_copy` they are
  /// packed although they are plain.
  PlainBlocks(const Side* side, Bytes longest, bool must_copy = false) : side_(side) {
    if (side == nullptr) return;
    is_packed_ = must_copy || !side->has_plain_blocks();
    for (int b = 0; b < side->blocks(); ++b) {
      Block& block = blocks_[static_cast<std::size_t>(b)];
      block = {is_packed_ ? nullptr : side->plain_block(b), side->block_bytes(b)};
      if (block.bytes > longest) side_ = nullptr;
    }
    if (side_ == nullptr) is_packed_ = false;
  }

  bool has_blocks() const { return side_ != nullptr; }
  bool is_packed() const { return is_packed_; }
  Bytes packed_bytes() const { return is_packed_ ? side_->bytes() : 0; }

  /// Their sizes; those to be packed are nowhere yet.
  MaybeBlocks sizes() const {
    return side_ == nullptr ? MaybeBlocks() : std::span(blocks_.data(), static_cast<std::size_t>(side_->blocks()));
  }
  /// `memory` has room for packed_bytes().
  MaybeBlocks place(std::byte* memory) {
    for (int b = 0; is_packed_ && b < side_->blocks(); ++b) {
      Block& block = blocks_[static_cast<std::size_t>(b)];
      memory = (block.data = memory) + block.bytes;
    }
    return sizes();
  }

 private:
  const Side* side_;
  bool is_packed_ = false;
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

/// Room for what came of each packed block.
class Taken {
 public:
  explicit Taken(int blocks) : count_(static_cast<std::size_t>(blocks)) {}

  std::span<Bytes> all() { return {all_.data(), count_}; }
  /// Blocks may be shorter than the room for them.
  int unpack(const Side& side, const std::byte* from, MPI_Comm comm) const {
    int code = MPI_SUCCESS;
    for (std::size_t b = 0; b < count_ && code == MPI_SUCCESS; ++b) {
      const Side block = side.block(static_cast<int>(b));
      code = block.front(all_[b]).unpack(from, comm);
      from += block.bytes();
    }
    return code;
  }

 private:
  std::size_t count_;
  std::array<Bytes, execute::most_uneven_ranks> all_;
};

/// MPI's code of a call that was done.
std::optional<int> conclude(UnevenOutcome outcome, Communicator& communicator, MPI_Comm comm, plan::Operation operation,
                            const Sides& sides) {
  switch (outcome) {
    case UnevenOutcome::truncated: return fail_for_size(comm, plan::name_of(ToldAs::told_uneven(operation, 0)));
    case UnevenOutcome::broken: return fail(communicator, comm);
    case UnevenOutcome::unknown: return refuse_unknown(comm, operation, sides.are_missing);
    case UnevenOutcome::done:
    case UnevenOutcome::too_long: break;
  }
  return MPI_SUCCESS;
}

/// Whose call it is.
struct Turn {
  const UnevenKind* kind = nullptr;  ///< ours, done so
  std::optional<int> code = {};      ///< if it is not: MPI's code, or nothing where native is to do the call
};

/// Where both of two ranks know the size that chooses, one that does not know it has wrong arguments: it says so to the
/// other if that is sure to listen.
[[gnu::noinline]] Turn choose_by_size(Communicator& communicator, MPI_Comm comm, const UnevenKind& usual,
                                      const UnevenCall& call, const Sides& sides) {
  const Engine& engine = *communicator.engine();
  const plan::Operation operation = usual.operation;
  const std::optional<Bytes> moved = moved_bytes(operation, LocalRank(engine.me().value), call);
  if (!moved && engine.decider().natives_of(operation, true) == tune::Natives::none) return {&usual};
  if (!moved) return {nullptr, conclude(UnevenOutcome::unknown, communicator, comm, operation, sides)};
  const UnevenKind* const kind = engine.decider().find_uneven_way(operation, *moved);
  if (kind != nullptr) return {kind};
  communicator.note_selected();
  return {nullptr, leave_uneven(communicator, operation)};
}

inline Turn take_turn(Communicator& communicator, MPI_Comm comm, const UnevenKind& usual, const UnevenCall& call,
                      const Sides& sides) {
  if (!communicator.engine()->decider().has_uneven_ways(usual.operation)) return {&usual};
  return choose_by_size(communicator, comm, usual, call, sides);
}

MaybeBlocks blocks_of(const ReadyBlocks* blocks) {
  return blocks == nullptr ? MaybeBlocks() : MaybeBlocks(blocks->all());
}

}  // namespace

UnevenAttempt run_ready_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                               const ReadyBlocks* input, const ReadyBlocks* output) {
  Engine& engine = *communicator.engine();
  const UnevenKind& usual = engine.decider().uneven_kind(operation);
  if (!engine.supply_uneven(operation, root)) return {};
  Told told(usual, communicator.ranks());
  const UnevenCall call{LocalRank(root), blocks_of(input), blocks_of(output), told.sizes()};
  const Turn turn = take_turn(communicator, comm, usual, call, {});
  if (turn.kind == nullptr) return {true, turn.code};
  const UnevenOutcome outcome = engine.run_uneven_blocks(*turn.kind, call);
  if (outcome == UnevenOutcome::done) return {true, MPI_SUCCESS};
  if (outcome == UnevenOutcome::too_long) return {.sizes = {told.sizes().begin(), told.sizes().end()}};
  return {true, conclude(outcome, communicator, comm, operation, {})};
}

UnevenAttempt try_uneven_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Sides& sides) {
  Engine& engine = *communicator.engine();
  const UnevenKind& kind = engine.decider().uneven_kind(operation);
  if (communicator.is_broken) return {true, fail(communicator, comm)};
  if (const int code = check_committed(sides, comm); code != MPI_SUCCESS) return {true, code};
  if (kind.longest == 0) return {};  // and ranks tell each other their sizes next
  if (!engine.supply_uneven(operation, root)) return {};
  PlainBlocks input(sides.input, kind.longest, sides.must_copy), output(sides.output, kind.longest);
  const Turn turn = take_turn(communicator, comm, kind, {LocalRank(root), input.sizes(), output.sizes(), {}}, sides);
  if (turn.kind == nullptr) return {true, turn.code};
  std::byte* const memory = communicator.packed().take(input.packed_bytes() + output.packed_bytes());
  if (input.is_packed())
    if (const int code = sides.input->pack(memory, comm); code != MPI_SUCCESS) return {true, code};
  Told told(kind, communicator.ranks());
  const bool is_scatter = operation == plan::Operation::scatter;
  if (root == communicator.rank() && !(is_scatter ? input : output).has_blocks())
    told.tell(is_scatter ? sides.input : sides.output);
  Taken taken(output.is_packed() ? sides.output->blocks() : 0);
  const UnevenOutcome outcome = engine.run_uneven_blocks(
      *turn.kind,
      {LocalRank(root), input.place(memory), output.place(memory + input.packed_bytes()), told.sizes(), taken.all()});
  if (outcome == UnevenOutcome::too_long) return {.sizes = {told.sizes().begin(), told.sizes().end()}};
  std::optional<int> code = conclude(outcome, communicator, comm, operation, sides);
  if (code == MPI_SUCCESS && output.is_packed())
    code = taken.unpack(*sides.output, memory + input.packed_bytes(), comm);
  communicator.packed().trim();
  return {true, code};
}

}  // namespace espalier::mpi
