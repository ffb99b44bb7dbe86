#pragma once
// The shared memory of one communicator on one node: who finds what where. Pure layout; whoever maps it owns it.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "execute/lines/ring.hpp"
#include "execute/waiting/bell.hpp"
#include "execute/watch_line.hpp"
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

/// Where a rank's private buffers lie, for neighbours that pull or push, and what it does (execute/statement.hpp).
struct alignas(line_bytes) Exposure {
  std::byte* address[3];  ///< by plan::Buffer: input, output, scratch
  /// Of its last programs, by call: nobody gets as many of them ahead of a neighbour (Seat::may_state).
  static constexpr std::size_t statements = 4;
  std::atomic<std::uint64_t> statement[statements];
  std::atomic<std::uint64_t> vouched;  ///< the last statement that is not the rank's own, but what it was told
};
static_assert(sizeof(Exposure) == line_bytes);

/// What neighbours have to know of where a rank has put things. Changes seldom, so all of them have copies of the line.
struct alignas(line_bytes) Notice {
  /// Where each bank of its window lies, counted from Board::origin(): said before the first flag of a call that uses
  /// it.
  std::atomic<Bytes> place[plan::window_banks];
  /// The lowest rank's says where the long rings of all lie; 0: nowhere yet.
  std::atomic<Bytes> rings;
  /// Whether who reads it is to take its lines over (Way::is_taken). Advice: either is right.
  std::atomic<bool> is_taken;
  /// The rank has broken off a call and makes none any more.
  std::atomic<bool> has_left;
};

struct BoardShape {
  int ranks = 0;           ///< ranks of the communicator on this node
  Bytes window_bytes = 0;  ///< one bank of one rank's window; a multiple of 4096
};

/// A view of mapped, zero-initialised shared memory. Zero is the state before the first call.
///
/// A communicator has a desk for each of its ranks from the start, 2 KB each. The long rings, and the windows that
/// ranks lend it (execute/windows.hpp), lie elsewhere and come when they are needed.
class Board {
 public:
  Board() = default;
  /// `desks` is aligned to a line and desk_bytes() long, the same memory on all ranks of the node. `origin` is what
  /// windows are counted from, in memory that all of them map.
  Board(std::byte* desks, BoardShape shape, std::byte* origin = nullptr)
      : desks_(desks), origin_(origin), shape_(shape) {}

  static Bytes desk_bytes(int ranks) { return static_cast<Bytes>(ranks) * sizeof(Desk); }
  static Bytes long_ring_bytes(int ranks) {
    return static_cast<Bytes>(ranks) * ring_lines(long_ring_block) * sizeof(Line);
  }

  /// A board with everything in one piece of memory, page aligned and `bytes()` long: long rings, and two windows for
  /// each rank for good. For ranks that have one communicator only. Whoever sees it first may use it.
  static Board furnished(std::byte* memory, BoardShape shape);
  static Bytes bytes(BoardShape shape) { return windows_begin(shape) + windows_bytes(shape); }

  const BoardShape& shape() const { return shape_; }
  explicit operator bool() const { return desks_ != nullptr; }

  std::atomic<std::uint64_t>& flag(LocalRank rank, plan::Flag flag) const {
    return desk(rank).flags[static_cast<int>(flag)].value;
  }
  Bell& bell(LocalRank rank) const { return desk(rank).bell; }
  Exposure& exposure(LocalRank rank) const { return desk(rank).exposure; }
  Notice& notice(LocalRank rank) const { return desk(rank).window; }
  WatchLine& watch(LocalRank rank) const { return desk(rank).watch; }

  /// Long rings, in memory of long_ring_bytes(), from now on. All ranks of the node say so between the same two calls.
  void use_long_rings(std::byte* memory) { long_rings_ = reinterpret_cast<Line*>(memory); }
  bool has_long_rings() const { return long_rings_ != nullptr; }
  /// Lines of one of a ring's two blocks: the longest message.
  std::uint32_t ring_block() const { return has_long_rings() ? long_ring_block : short_ring_block; }
  Line* ring(LocalRank rank) const {
    return has_long_rings() ? long_rings_ + static_cast<std::size_t>(rank.value) * ring_lines(long_ring_block)
                            : desk(rank).ring;
  }

  std::byte* origin() const { return origin_; }
  std::byte* window(LocalRank rank, std::uint64_t call) const {
    return origin_ + notice(rank).place[call % plan::window_banks].load(std::memory_order_relaxed);
  }

 private:
  /// All that one rank writes from the start.
  struct Desk {
    FlagLine flags[plan::flag_count];
    alignas(line_bytes) Bell bell;  ///< the one word that neighbours write too
    Exposure exposure;
    Notice window;
    WatchLine watch;
    Line ring[ring_lines(short_ring_block)];
  };
  static_assert(sizeof(Desk) <= 2048, "a communicator that is used little is to cost little");

  static constexpr Bytes page = 4096;
  static constexpr Bytes up_to_page(Bytes bytes) { return (bytes + page - 1) / page * page; }
  static Bytes rings_begin(BoardShape shape) { return up_to_page(desk_bytes(shape.ranks)); }
  static Bytes windows_begin(BoardShape shape) { return rings_begin(shape) + up_to_page(long_ring_bytes(shape.ranks)); }
  static Bytes windows_bytes(BoardShape shape) {
    return static_cast<Bytes>(shape.ranks) * plan::window_banks * shape.window_bytes;
  }
  Desk& desk(LocalRank rank) const { return reinterpret_cast<Desk*>(desks_)[rank.value]; }

  std::byte* desks_ = nullptr;
  Line* long_rings_ = nullptr;
  std::byte* origin_ = nullptr;
  BoardShape shape_;
};

inline Board Board::furnished(std::byte* memory, BoardShape shape) {
  Board board(memory, shape, memory);
  board.use_long_rings(memory + rings_begin(shape));
  Bytes place = windows_begin(shape);
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (auto& bank : board.notice(LocalRank(rank)).place) {
      bank.store(place, std::memory_order_relaxed);
      place += shape.window_bytes;
    }
  return board;
}

}  // namespace espalier::execute
