#include "execute/board.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::execute {
namespace {

TEST(Board, IsTheSumOfWhatItsRanksWrite) {
  const BoardShape shape{5, 8192};
  std::vector<int> writers(Board::bytes(shape));
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (const Board::Part& part : Board::parts_of(shape, LocalRank(rank)))
      for (Bytes at = part.offset; at < part.offset + part.bytes; ++at) ++writers.at(at);
  Bytes unwritten = 0;
  for (const int count : writers) {
    ASSERT_LE(count, 1);
    unwritten += count == 0;
  }
  EXPECT_LT(unwritten, 4096u) << "only what rounds the desks up to a page belongs to nobody";
}

TEST(Board, GivesEachRankItsOwnFlagsLinesAndWindows) {
  const BoardShape shape{3, 4096};
  std::vector<std::byte> memory(Board::bytes(shape) + 4096);
  std::byte* const base = memory.data() + 4096 - reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
  const Board board(base, shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const LocalRank me(rank);
    const auto [desk, windows] = Board::parts_of(shape, me);
    const auto lies_in = [&](const void* address, const Board::Part& part) {
      const auto at = static_cast<Bytes>(static_cast<const std::byte*>(address) - base);
      return at >= part.offset && at < part.offset + part.bytes;
    };
    for (int flag = 0; flag < plan::flag_count; ++flag)
      EXPECT_TRUE(lies_in(&board.flag(me, static_cast<plan::Flag>(flag)), desk));
    EXPECT_TRUE(lies_in(&board.bell(me), desk));
    EXPECT_TRUE(lies_in(board.ring(me) + ring_lines - 1, desk));
    for (const std::uint64_t call : {6, 7}) {
      EXPECT_TRUE(lies_in(board.window(me, call), windows));
      EXPECT_TRUE(lies_in(board.window(me, call) + shape.window_bytes - 1, windows));
    }
  }
}

}  // namespace
}  // namespace espalier::execute
