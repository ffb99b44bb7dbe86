#include "execute/board.hpp"

#include <gtest/gtest.h>

#include <set>

#include "execute/one_node.hpp"

namespace espalier::execute {
namespace {

// Each begin claims its line and those behind it: nothing written by two ranks may share one.
class Claims {
 public:
  void claim(const void* begin, Bytes bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    EXPECT_EQ(first % line_bytes, 0u);
    for (std::uintptr_t line = first; line < first + bytes; line += line_bytes)
      EXPECT_TRUE(lines_.insert(line).second) << "claimed twice";
  }
  bool lie_within(const std::byte* memory, Bytes bytes) const {
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    return *lines_.begin() >= first && *lines_.rbegin() + line_bytes <= first + bytes;
  }

 private:
  std::set<std::uintptr_t> lines_;
};

void claim_desk(Claims& claims, const Board& board, LocalRank rank) {
  for (int flag = 0; flag < plan::flag_count; ++flag)
    claims.claim(&board.flag(rank, static_cast<plan::Flag>(flag)), line_bytes);
  claims.claim(&board.bell(rank), line_bytes);
  claims.claim(&board.exposure(rank), line_bytes);
  claims.claim(&board.notice(rank), line_bytes);
  claims.claim(board.ring(rank), ring_lines(board.ring_block()) * sizeof(Line));
}

TEST(Board, CostsTwoKilobytesForEachRankAtFirst) {
  constexpr int ranks = 5;
  EXPECT_LE(Board::desk_bytes(1), 2048u);
  const Memory memory = zeroed(Board::desk_bytes(ranks));
  const Board board(memory.get(), {ranks, 8192});
  Claims claims;
  for (int rank = 0; rank < ranks; ++rank) claim_desk(claims, board, LocalRank(rank));
  EXPECT_TRUE(claims.lie_within(memory.get(), Board::desk_bytes(ranks)));
  EXPECT_FALSE(board.has_long_rings());
}

TEST(Board, HasRoomForLongMessagesOnceItGotLongRings) {
  constexpr int ranks = 3;
  const Memory desks = zeroed(Board::desk_bytes(ranks)), rings = zeroed(Board::long_ring_bytes(ranks));
  Board board(desks.get(), {ranks, 8192});
  EXPECT_LT(board.ring_block(), tiny_lines);
  board.use_long_rings(rings.get());
  EXPECT_GE(board.ring_block(), tiny_lines);
  Claims claims;
  for (int rank = 0; rank < ranks; ++rank)
    claims.claim(board.ring(LocalRank(rank)), ring_lines(board.ring_block()) * sizeof(Line));
  EXPECT_TRUE(claims.lie_within(rings.get(), Board::long_ring_bytes(ranks)));
}

TEST(Board, WindowsAreWhereTheirOwnersSay) {
  const Memory desks = zeroed(Board::desk_bytes(2)), elsewhere = zeroed(64 << 10);
  const Board board(desks.get(), {2, 8192}, elsewhere.get());
  board.notice(LocalRank(1)).place[0].store(4096);
  board.notice(LocalRank(1)).place[1].store(16384);
  EXPECT_EQ(board.window(LocalRank(1), 6), elsewhere.get() + 4096);
  EXPECT_EQ(board.window(LocalRank(1), 7), elsewhere.get() + 16384);
}

TEST(Board, FurnishedGivesEachRankAllOfItsOwn) {
  constexpr BoardShape shape{3, 4096};
  const Memory memory = zeroed(Board::bytes(shape));
  const Board board = Board::furnished(memory.get(), shape);
  Claims claims;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    claim_desk(claims, board, LocalRank(rank));
    for (const std::uint64_t call : {6, 7}) claims.claim(board.window(LocalRank(rank), call), shape.window_bytes);
  }
  EXPECT_TRUE(claims.lie_within(memory.get(), Board::bytes(shape)));
}

}  // namespace
}  // namespace espalier::execute
