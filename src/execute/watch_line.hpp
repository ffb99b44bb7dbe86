#pragma once
// What a rank tells of itself at its desk: who it is, and which call it has long been waiting in. For whoever asks why
// a job stands still (src/watch), in this process, in a neighbour's, or outside the job.

#include <atomic>
#include <cstdint>

namespace espalier::execute {

/// One cache line, written by its owner alone: who it is at set-up, the rest by waits that have lasted for milliseconds
/// already. Calls that do not wait write nothing: that a rank has finished a call is what its flag Flag::done says.
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
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::int32_t> root;
  std::atomic<std::uint8_t> operation;  ///< plan::Operation
  std::atomic<std::uint8_t> form;       ///< plan::CallForm
  std::atomic<std::uint64_t> since;     ///< CLOCK_MONOTONIC, nanoseconds
};
static_assert(sizeof(WatchLine) == 64);

}  // namespace espalier::execute
