#pragma once
// The shared memory of one communicator on one node: who finds what where. Pure layout; whoever maps it owns it.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "plan/step.hpp"

namespace espalier::execute {

/// Unit of coherence: nothing written by two ranks shares one.
inline constexpr std::size_t line_bytes = 64;

/// One cache line of a tiny message: the call it belongs to and its part of the payload travel together.
struct alignas(line_bytes) Line {
  static constexpr Bytes payload_bytes = line_bytes - sizeof(std::uint64_t);
  std::atomic<std::uint64_t> call;
  std::byte payload[payload_bytes];
};
static_assert(sizeof(Line) == line_bytes);

struct alignas(line_bytes) FlagLine {
  std::atomic<std::uint64_t> value;
};

/// Where a rank's private buffers lie, for neighbours that pull or push.
struct alignas(line_bytes) Exposure {
  std::byte* address[3];  ///< by plan::Buffer: input, output, scratch
};

/// Lines that one tiny message may take: 4 KiB and a bit. Beyond, single copy is faster (bench_node: 2 ranks, 4K 0.95 µs
/// through lines, 1.5 µs through cells; 8K 1.5 µs through lines, 1.3 µs by single copy).
inline constexpr std::uint64_t tiny_lines = 74;
/// Tiny messages per rank: a broadcast root runs this many calls ahead of its slowest reader.
inline constexpr std::uint64_t ring_messages = 8;

struct BoardShape {
  int ranks = 0;           ///< ranks of the communicator on this node
  Bytes window_bytes = 0;  ///< one bank of one rank's window; a multiple of 4096
};

/// A view of mapped, zero-initialised shared memory. Zero is the state before the first call.
class Board {
 public:
  Board() = default;
  /// `base` is page aligned and `bytes(shape)` long, the same memory on all ranks of the node.
  Board(std::byte* base, BoardShape shape) : base_(base), shape_(shape) {}

  static Bytes bytes(BoardShape shape) { return windows_begin(shape) + windows_bytes(shape); }

  const BoardShape& shape() const { return shape_; }
  explicit operator bool() const { return base_ != nullptr; }

  std::atomic<std::uint64_t>& flag(LocalRank rank, plan::Flag flag) const {
    return desk(rank).flags[static_cast<int>(flag)].value;
  }
  Exposure& exposure(LocalRank rank) const { return desk(rank).exposure; }
  /// The first of the `tiny_lines` lines that carry a rank's tiny message in a call.
  Line* lines(LocalRank rank, std::uint64_t call) const { return desk(rank).ring[call % ring_messages]; }

  std::byte* window(LocalRank rank, std::uint64_t call) const {
    const Bytes bank = call % plan::window_banks;
    return base_ + windows_begin(shape_) +
           (static_cast<Bytes>(rank.value) * plan::window_banks + bank) * shape_.window_bytes;
  }

 private:
  /// All that one rank writes, apart from its windows.
  struct Desk {
    FlagLine flags[plan::flag_count];
    Exposure exposure;
    Line ring[ring_messages][tiny_lines];
  };

  static Bytes windows_begin(BoardShape shape) {
    constexpr Bytes page = 4096;
    return (static_cast<Bytes>(shape.ranks) * sizeof(Desk) + page - 1) / page * page;
  }
  static Bytes windows_bytes(BoardShape shape) {
    return static_cast<Bytes>(shape.ranks) * plan::window_banks * shape.window_bytes;
  }
  Desk& desk(LocalRank rank) const { return reinterpret_cast<Desk*>(base_)[rank.value]; }

  std::byte* base_ = nullptr;
  BoardShape shape_;
};

}  // namespace espalier::execute
