#include "transports/ucx/ring.hpp"

#include <gtest/gtest.h>

namespace espalier::transports::ucx {
namespace {

TEST(UcxRing, CountsTheWordAmongARecordsBytes) {
  EXPECT_EQ(lines_of(0), 1u);
  EXPECT_EQ(lines_of(56), 1u);
  EXPECT_EQ(lines_of(57), 2u);
  EXPECT_EQ(lines_of(120), 2u);
  EXPECT_EQ(lines_of(121), 3u);
}

TEST(UcxRing, PutsRecordsBehindEachOtherAndSkipsAnEndThatIsTooShort) {
  Cursor cursor(8);
  cursor.move_past(cursor.next(5), 5);
  const Cursor::Place place = cursor.next(4);
  EXPECT_EQ(place.begin, 0u);
  EXPECT_EQ(place.count, 5u + 3u + 4u) << "three lines were skipped";
  EXPECT_EQ(cursor.next(3).begin, 5u) << "this one fits exactly";
  EXPECT_EQ(cursor.next(3).count, 8u);
}

TEST(UcxRing, NeverUsesSequenceNumberZero) {
  EXPECT_EQ(sequence_after(0xffffffff), 1u);
  EXPECT_EQ(Cursor(8).sequence(), 1u);
}

TEST(UcxRing, ComparesCountsAcrossTheirOverflow) {
  EXPECT_TRUE(is_ahead(3, 0xfffffff0));
  EXPECT_FALSE(is_ahead(0xfffffff0, 3));
  EXPECT_FALSE(is_ahead(7, 7));
}

TEST(UcxRing, CarriesBothNumbersInAWord) {
  const Word word = Word::from(Word{0xdeadbeef, 0x12345678}.bits());
  EXPECT_EQ(word.sequence, 0xdeadbeef);
  EXPECT_EQ(word.consumed, 0x12345678u);
}

}  // namespace
}  // namespace espalier::transports::ucx
