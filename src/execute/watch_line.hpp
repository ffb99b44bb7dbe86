#pragma once
// What a rank tells of itself at its desk: who it is, and which call it has long been waiting in. For whoever asks why
// a job stands still (src/watch), in this process, in a neighbour's, or outside the job.

#include <atomic>
#include <cstdint>
#include <optional>

#include "plan/calls.hpp"

namespace espalier::execute {

/// What a rank does that is left to the MPI: one word, so that others see it whole, and know by looking twice whether
/// it still is the same.
struct LeftToMpi {
  enum class Doing : std::uint8_t {
    nothing,
    call,             ///< a collective of this communicator
    comparison,       ///< of arguments, by ESPALIER_CHECK: the call comes next
    finalization,     ///< MPI_Finalize, after which no call comes
    preparation,      ///< ranks get memory together, by the MPI, that the call needs first
    run_preparation,  ///< the same of calls that do not block: which one is not known
    set_up,           ///< ranks of a communicator that has no line yet get to know each other
  };

  Doing doing = Doing::nothing;
  plan::Operation operation = plan::Operation::barrier;  ///< that it does, or did last
  plan::BlockSizes blocks = plan::BlockSizes::equal;
  std::uint32_t calls = 0;  ///< and comparisons, with the one at hand: as all ranks count

  static LeftToMpi from_word(std::uint64_t word) noexcept {
    return {static_cast<Doing>(word >> 56), static_cast<plan::Operation>(word >> 48 & 0x3f),
            static_cast<plan::BlockSizes>(word >> 54 & 3), static_cast<std::uint32_t>(word)};
  }
  friend bool operator==(const LeftToMpi&, const LeftToMpi&) = default;
  std::uint64_t to_word() const noexcept { return head(doing, operation, blocks) | calls; }
  /// That word, and now something else is done.
  static constexpr std::uint64_t begin(std::uint64_t word, Doing doing, const plan::Call& call) noexcept {
    return head(doing, call.operation, call.blocks) | ((word + 1) & 0xffff'ffff);
  }
  static constexpr std::uint64_t end(std::uint64_t word) noexcept { return word & 0x00ff'ffff'ffff'ffff; }

 private:
  static constexpr std::uint64_t head(Doing doing, plan::Operation operation, plan::BlockSizes blocks) noexcept {
    return static_cast<std::uint64_t>(doing) << 56 | static_cast<std::uint64_t>(blocks) << 54 |
           static_cast<std::uint64_t>(operation) << 48;
  }
};

/// Of what is shown as a number, where none and not known are one.
inline std::optional<Bytes> told_bytes(std::uint64_t shown) noexcept {
  return shown == 0 ? std::nullopt : std::optional<Bytes>(shown);
}

/// One cache line, written by its owner alone: who it is at set-up, the rest by waits that have lasted for milliseconds
/// already, and what is left to the MPI before and after. Calls of ours that do not wait write nothing: that a rank has
/// finished a call is what its flag Flag::done says.
struct alignas(64) WatchLine {
  /// Tells desks from whatever else lies in shared memory.
  static constexpr std::uint32_t written = 0x4553'5057;  // "ESPW"

  std::atomic<std::uint32_t> mark;
  std::uint32_t community;  ///< equal on all ranks of a communicator, and on no other's; the lowest bit: all of the job
  std::int32_t pid;
  std::int32_t world_rank;
  std::int32_t rank;  ///< in the communicator
  std::int32_t ranks;
  /// The number of the call; 0: it waits in none. Written last.
  std::atomic<std::uint64_t> call;
  std::atomic<std::uint64_t> bytes;  ///< 0: none, or not known
  std::atomic<std::int32_t> root;
  std::atomic<std::uint8_t> operation;  ///< plan::Operation
  std::atomic<std::uint8_t> form;       ///< plan::CallForm
  std::atomic<std::uint8_t> blocks;     ///< plan::BlockSizes, as far as the engine knows: counts may be all equal
  std::atomic<std::uint32_t> since;     ///< CLOCK_MONOTONIC, milliseconds: the last 32 bits
  /// Of what it waits in, or else of what it leaves to the MPI, as bytes and root: the number of the program's call, as
  /// this rank counts all that the program makes; `call` and LeftToMpi::calls count what ranks make together.
  std::atomic<std::uint32_t> number;
  std::atomic<std::uint64_t> left;  ///< LeftToMpi

  /// By its owner: the number of a call that the program makes now. A call that does not block shows its own as long as
  /// it waits; what one that blocks has shown may be old. Whether that is to be read.
  bool show_number(std::uint64_t its_number) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    const bool is_free =
        call.load(relaxed) == 0 || form.load(relaxed) == static_cast<std::uint8_t>(plan::CallForm::blocking);
    if (is_free) number.store(static_cast<std::uint32_t>(its_number), relaxed);
    return is_free;
  }
  /// By its owner: the ranks' call with that number is this one, in which it has waited since then.
  void show_waiting(std::uint64_t its_call, const plan::Call& what, std::uint32_t since_then) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    call.store(0, std::memory_order_release);
    operation.store(static_cast<std::uint8_t>(what.operation), relaxed);
    form.store(static_cast<std::uint8_t>(what.form), relaxed);
    blocks.store(static_cast<std::uint8_t>(what.blocks), relaxed);
    bytes.store(what.bytes.value_or(0), relaxed);
    root.store(what.root, relaxed);
    since.store(since_then, relaxed);
    number.store(static_cast<std::uint32_t>(what.number), relaxed);
    call.store(its_call, std::memory_order_release);
  }
  /// What it shows so; of what is left to the MPI, operation and blocks are LeftToMpi's.
  plan::Call what() const noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    return {.operation = static_cast<plan::Operation>(operation.load(relaxed)),
            .blocks = static_cast<plan::BlockSizes>(blocks.load(relaxed)),
            .form = static_cast<plan::CallForm>(form.load(relaxed)),
            .root = root.load(relaxed),
            .bytes = told_bytes(bytes.load(relaxed)),
            .number = number.load(relaxed)};
  }
  /// By its owner: from now on it does that, together with the others. The word that `left` has now.
  std::uint64_t begin_left(LeftToMpi::Doing doing, const plan::Call& what) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (show_number(what.number)) {
      bytes.store(what.bytes.value_or(0), relaxed);
      root.store(what.root, relaxed);
    }
    const std::uint64_t word = LeftToMpi::begin(left.load(relaxed), doing, what);
    left.store(word, relaxed);
    return word;
  }
};
static_assert(sizeof(WatchLine) == 64);

}  // namespace espalier::execute
