#pragma once
// One communicator whose ranks sit on one node, as an exploration sees it: a board, buffers, and names for all of it.

#include <new>
#include <string>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "execute/waiting/waiting.hpp"
#include "explorer/explorer.hpp"
#include "plain_copy.hpp"

namespace espalier::interleavings {

class Node {
 public:
  explicit Node(int ranks, Bytes window_bytes = 0, Waiting waiting = Waiting::yield)
      : ranks_(ranks), window_bytes_(window_bytes), waiting_(waiting) {}
  /// With rings for messages of any length in lines.
  Node& with_long_rings() {
    has_long_rings_ = true;
    return *this;
  }

  int ranks() const { return ranks_; }
  const execute::Board& board() const { return board_; }
  /// Memory for long rings: theirs from the start, or for seats to take between two calls.
  std::byte* long_rings() const { return long_rings_; }

  /// Before each execution. Windows: two for each rank, unless there is `origin` to count others from.
  void prepare(Arena& arena, std::byte* origin = nullptr) {
    using execute::Board;
    std::byte* const desks = arena.take(Board::desk_bytes(ranks_));
    const Bytes windows = static_cast<Bytes>(ranks_) * plan::window_banks * window_bytes_;
    const bool has_windows = origin == nullptr && windows > 0;
    if (has_windows) origin = arena.take(windows, 4096);
    board_ = Board(desks, {ranks_, window_bytes_}, origin);
    long_rings_ = arena.take(Board::long_ring_bytes(ranks_));
    arena.name(long_rings_, Board::long_ring_bytes(ranks_), "line of a long ring");
    if (has_long_rings_) board_.use_long_rings(long_rings_);
    for (int r = 0; r < ranks_; ++r) name_desk(arena, LocalRank(r));
    if (!has_windows) return;
    Bytes place = 0;
    for (int r = 0; r < ranks_; ++r)
      for (auto& bank : board_.notice(LocalRank(r)).place) {
        bank.store(place, std::memory_order_relaxed);
        arena.name(origin + place, window_bytes_, "window of " + std::to_string(r));
        place += window_bytes_;
      }
  }

  execute::Seat seat(int rank, execute::WindowPool* windows = nullptr) const {
    return {board_, LocalRank(rank), execute::may_sleep(waiting_), windows};
  }
  execute::PatientWaiter waiter() const { return {waiting_, 0}; }

 private:
  void name_desk(Arena& arena, LocalRank rank) {
    const std::string of = " of " + std::to_string(rank.value);
    for (int f = 0; f < plan::flag_count; ++f) {
      const auto flag = static_cast<plan::Flag>(f);
      name(arena, board_.flag(rank, flag), std::string("flag ") + plan::name(flag) + of);
    }
    name(arena, board_.bell(rank), "bell" + of);
    execute::Exposure& exposure = board_.exposure(rank);
    name(arena, exposure.address, "address" + of);
    name(arena, exposure.statement, "statement" + of);
    name(arena, exposure.vouched, "vouched" + of);
    execute::Notice& notice = board_.notice(rank);
    name(arena, notice.place, "place" + of);
    name(arena, notice.is_taken, "advice" + of);
    name(arena, notice.has_left, "leaving" + of);
    arena.name(board_.ring(rank), execute::ring_lines(board_.ring_block()) * sizeof(execute::Line), "line" + of);
  }
  template <class Object>
  static void name(Arena& arena, const Object& object, std::string name) {
    arena.name(&object, sizeof object, std::move(name));
  }

  int ranks_;
  Bytes window_bytes_;
  Waiting waiting_;
  bool has_long_rings_ = false;
  std::byte* long_rings_ = nullptr;
  execute::Board board_;
};

/// What the system would copy is, in an exploration, a copy of this rank.
using testing::PlainCopy;

}  // namespace espalier::interleavings
