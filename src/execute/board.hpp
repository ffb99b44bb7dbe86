#pragma once
// The shared memory of one communicator on one node: who finds what where. Pure layout; whoever maps it owns it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "execute/bell.hpp"
#include "execute/ring.hpp"
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

  /// A stretch of the board.
  struct Part {
    Bytes offset;
    Bytes bytes;
  };
  /// What one rank writes: its desk and its windows. The parts of all ranks are the whole board. They lie on the NUMA
  /// node of the rank that populates them (transports/arena.hpp); desks share pages at their ends.
  static std::array<Part, 2> parts_of(BoardShape shape, LocalRank rank) {
    const auto r = static_cast<Bytes>(rank.value);
    const Bytes windows = window_banks_bytes(shape);
    return {{{r * sizeof(Desk), sizeof(Desk)}, {windows_begin(shape) + r * windows, windows}}};
  }

  const BoardShape& shape() const { return shape_; }
  explicit operator bool() const { return base_ != nullptr; }

  std::atomic<std::uint64_t>& flag(LocalRank rank, plan::Flag flag) const {
    return desk(rank).flags[static_cast<int>(flag)].value;
  }
  Bell& bell(LocalRank rank) const { return desk(rank).bell; }
  Exposure& exposure(LocalRank rank) const { return desk(rank).exposure; }
  /// Whether who reads this rank's window is to take its lines over (Way::is_taken). Advice: either is right.
  std::atomic<bool>& is_taken(LocalRank rank) const { return desk(rank).is_taken; }
  Line* ring(LocalRank rank) const { return desk(rank).ring; }

  std::byte* window(LocalRank rank, std::uint64_t call) const {
    const Bytes bank = call % plan::window_banks;
    return base_ + windows_begin(shape_) + static_cast<Bytes>(rank.value) * window_banks_bytes(shape_) +
           bank * shape_.window_bytes;
  }

 private:
  /// All that one rank writes, apart from its windows.
  struct Desk {
    FlagLine flags[plan::flag_count];
    alignas(line_bytes) Bell bell;  ///< the one word that neighbours write too
    Exposure exposure;
    alignas(line_bytes) std::atomic<bool> is_taken;  ///< changes seldom: all have copies of this line
    Line ring[ring_lines];
  };

  static Bytes windows_begin(BoardShape shape) {
    constexpr Bytes page = 4096;
    return (static_cast<Bytes>(shape.ranks) * sizeof(Desk) + page - 1) / page * page;
  }
  static Bytes windows_bytes(BoardShape shape) { return static_cast<Bytes>(shape.ranks) * window_banks_bytes(shape); }
  static Bytes window_banks_bytes(BoardShape shape) { return plan::window_banks * shape.window_bytes; }
  Desk& desk(LocalRank rank) const { return reinterpret_cast<Desk*>(base_)[rank.value]; }

  std::byte* base_ = nullptr;
  BoardShape shape_;
};

}  // namespace espalier::execute
