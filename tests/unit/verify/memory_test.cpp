#include "verify/machine/memory.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

class MemoryTest : public ::testing::Test {
 protected:
  Access next(int rank, int call = 1) { return {clocks_.next(Rank(rank)), call}; }

  std::vector<Conflict> write(Extent where, const Access& by, Contents contents) {
    std::vector<Conflict> conflicts;
    memory_.write(where, by, contents, clocks_, conflicts);
    return conflicts;
  }
  std::vector<Conflict> read(Extent where, const Access& by) {
    std::vector<Conflict> conflicts;
    memory_.read(where, by, clocks_, conflicts);
    return conflicts;
  }
  Contents peek(Extent where, int call = 1) {
    Contents contents;
    memory_.peek(where, call, contents);
    return contents;
  }
  void expect_piece(const Piece& piece, Bytes bytes, std::uint32_t expression, Bytes offset) {
    EXPECT_EQ(piece.bytes, bytes);
    EXPECT_EQ(piece.value, (Value{expression, offset}));
  }

  Clocks clocks_{3};
  Memory memory_;
};

TEST_F(MemoryTest, UntouchedBytesAreUndefined) {
  const Contents contents = peek({5, 9});
  ASSERT_EQ(contents.size(), 1u);
  expect_piece(contents[0], 4, Value::undefined, 0);
}

TEST_F(MemoryTest, AWriteInTheMiddleSplitsAndKeepsOffsets) {
  write({0, 10}, next(0), {{10, {1, 100}}});
  write({4, 6}, next(0), {{2, {2, 0}}});
  const Contents contents = peek({1, 12});
  ASSERT_EQ(contents.size(), 4u);
  expect_piece(contents[0], 3, 1, 101);
  expect_piece(contents[1], 2, 2, 0);
  expect_piece(contents[2], 4, 1, 106);
  expect_piece(contents[3], 2, Value::undefined, 0);
}

TEST_F(MemoryTest, PiecesThatGoOnAreJoined) {
  write({0, 4}, next(0), {{4, {1, 0}}});
  write({4, 8}, next(0), {{4, {1, 4}}});
  ASSERT_EQ(peek({0, 8}).size(), 1u);
  expect_piece(peek({2, 8})[0], 6, 1, 2);
}

TEST_F(MemoryTest, ContentsOfOtherCallsAreUndefined) {
  write({0, 4}, next(0, 1), {{4, {1, 0}}});
  expect_piece(peek({0, 4}, 2)[0], 4, Value::undefined, 0);
}

TEST_F(MemoryTest, UnorderedAccessesConflictUnlessBothRead) {
  write({0, 8}, next(0), {{8, {1, 0}}});
  EXPECT_EQ(read({0, 4}, next(1)).size(), 1u);                  // with the write
  EXPECT_EQ(read({6, 8}, next(2)).size(), 1u);                  // not with the other read
  EXPECT_EQ(write({2, 7}, next(0), {{5, {1, 0}}}).size(), 2u);  // with both reads
}

TEST_F(MemoryTest, OrderedAccessesDoNotConflict) {
  write({0, 8}, next(0), {{8, {1, 0}}});
  const Access reader = next(1);
  clocks_.join(Rank(1), clocks_.snapshot(Rank(0)));
  EXPECT_TRUE(read({0, 8}, reader).empty());
  clocks_.join(Rank(2), clocks_.snapshot(Rank(1)));
  EXPECT_TRUE(write({0, 8}, next(2), {{8, {1, 0}}}).empty());
}

TEST_F(MemoryTest, AReadIsForgottenOnlyWhereItsBytesWereWritten) {
  write({0, 8}, next(0), {{8, {1, 0}}});
  clocks_.join(Rank(1), clocks_.snapshot(Rank(0)));
  read({0, 8}, next(1));
  const Access writer = next(0);
  EXPECT_EQ(write({0, 4}, writer, {{4, {1, 0}}}).size(), 1u);
  EXPECT_TRUE(write({0, 4}, writer, {{4, {1, 0}}}).empty());
  const std::vector<Conflict> conflicts = write({0, 8}, writer, {{8, {1, 0}}});
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].where.first, 4u);
  EXPECT_EQ(conflicts[0].where.last, 8u);
  EXPECT_FALSE(conflicts[0].other_writes);
}

TEST_F(MemoryTest, EmptyAccessesTouchNothing) {
  EXPECT_TRUE(write({4, 4}, next(0), {}).empty());
  EXPECT_TRUE(write({0, 8}, next(1), {{8, {1, 0}}}).empty());
  EXPECT_TRUE(read({3, 3}, next(2)).empty());
}

}  // namespace
}  // namespace espalier::verify
