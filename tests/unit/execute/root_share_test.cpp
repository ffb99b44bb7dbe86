// Who copies how much of a scatterv's or gatherv's long blocks.

#include "execute/lines/root_share.hpp"

#include <gtest/gtest.h>

namespace espalier::execute {
namespace {

constexpr Bytes mega = 1 << 20;

TEST(RootShare, OfARootWithoutABlockIsAsMuchAsAnybodys) {
  EXPECT_DOUBLE_EQ(root_share(2, 0, mega), 1.0 / 2);
  EXPECT_DOUBLE_EQ(root_share(8, 0, 7 * mega), 1.0 / 8);
}

TEST(RootShare, LeavesTheRootTimeForItsOwnBlockWhichTakesAQuarterOfWhatOthersDo) {
  // Of 1M + 1M the root copies 1M within its memory and 3/8 of the other one, while the other rank copies 5/8.
  EXPECT_DOUBLE_EQ(root_share(2, mega, mega), 3.0 / 8);
  // The uneven halves of a benchmark: 1M and 3M.
  EXPECT_DOUBLE_EQ(root_share(2, mega, 3 * mega), (3.25 / 2 - 0.25) / 3);
}

TEST(RootShare, IsNothingWhereItsOwnBlockTakesLongerThanAllOthers) {
  EXPECT_EQ(root_share(2, 4 * mega, mega), 0);
  EXPECT_EQ(root_share(2, 100 * mega, mega), 0);
  EXPECT_GT(root_share(2, 3 * mega, mega), 0);
}

TEST(RootShare, OfNothingIsNothing) { EXPECT_EQ(root_share(2, mega, 0), 0); }

TEST(RootShare, KeepsAllRanksBusyForAsLong) {
  for (int ranks = 2; ranks <= 16; ++ranks)
    for (const Bytes own : {Bytes{0}, mega, 2 * mega}) {
      const Bytes others = static_cast<Bytes>(ranks - 1) * mega;
      const double share = root_share(ranks, own, others);
      const double root = own_weight * static_cast<double>(own) + share * static_cast<double>(others);
      const double other = (1 - share) * static_cast<double>(mega);
      EXPECT_NEAR(root, other, 1) << ranks << " ranks, " << own << " bytes";
    }
}

}  // namespace
}  // namespace espalier::execute
