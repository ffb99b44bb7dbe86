#include "verify/machine/clocks.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

TEST(Clocks, AnEventIsPastOnlyAlongAChainOfJoins) {
  Clocks clocks(3);
  const Event first = clocks.next(Rank(0));
  const Snapshot posted = clocks.snapshot(Rank(0));
  clocks.next(Rank(1));
  EXPECT_FALSE(clocks.is_past(Rank(1), first));
  clocks.join(Rank(1), posted);
  EXPECT_TRUE(clocks.is_past(Rank(1), first));
  const Event later = clocks.next(Rank(0));
  EXPECT_FALSE(clocks.is_past(Rank(1), later));
  clocks.next(Rank(1));
  clocks.join(Rank(2), clocks.snapshot(Rank(1)));
  EXPECT_TRUE(clocks.is_past(Rank(2), first));
  EXPECT_FALSE(clocks.is_past(Rank(2), later));
}

TEST(Clocks, SnapshotsDoNotChangeWithTheirRank) {
  Clocks clocks(3);
  clocks.next(Rank(1));
  const Snapshot early = clocks.snapshot(Rank(1));
  const Event other = clocks.next(Rank(0));
  clocks.join(Rank(1), clocks.snapshot(Rank(0)));
  clocks.next(Rank(1));
  clocks.join(Rank(2), early);
  EXPECT_FALSE(clocks.is_past(Rank(2), other));
}

TEST(Clocks, AnOpenEventIsPastForNobody) {
  Clocks clocks(2);
  const Event start = clocks.next(Rank(0));
  clocks.open(start);
  clocks.next(Rank(0));
  clocks.join(Rank(1), clocks.snapshot(Rank(0)));
  EXPECT_FALSE(clocks.is_past(Rank(0), start));
  EXPECT_FALSE(clocks.is_past(Rank(1), start));
}

TEST(Clocks, AClosedEventIsPastForThoseWhoKnowOfItsEnd) {
  Clocks clocks(2);
  const Event start = clocks.next(Rank(0));
  clocks.open(start);
  const Snapshot during = clocks.snapshot(Rank(0));
  clocks.next(Rank(0));
  clocks.close(start);
  EXPECT_TRUE(clocks.is_past(Rank(0), start));
  clocks.join(Rank(1), during);
  EXPECT_FALSE(clocks.is_past(Rank(1), start));
  clocks.join(Rank(1), clocks.snapshot(Rank(0)));
  EXPECT_TRUE(clocks.is_past(Rank(1), start));
}

}  // namespace
}  // namespace espalier::verify
