#include "groups/distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace espalier::groups {
namespace {

/// The widest gap on the circle between what the distances from `first` to `last` - 1 reach.
int widest_gap(const std::vector<int>& distances, std::size_t first, std::size_t last, int count) {
  std::vector<int> reached(distances.begin() + static_cast<std::ptrdiff_t>(first),
                           distances.begin() + static_cast<std::ptrdiff_t>(last));
  std::sort(reached.begin(), reached.end());
  int widest = reached.front() + count - reached.back();
  for (std::size_t i = 1; i < reached.size(); ++i) widest = std::max(widest, reached[i] - reached[i - 1]);
  return widest;
}

TEST(SpreadDistances, MeetEveryoneOnce) {
  for (int count = 1; count <= 300; ++count) {
    const std::vector<int> distances = spread_distances(count);
    const std::set<int> all(distances.begin(), distances.end());
    ASSERT_EQ(distances.size(), static_cast<std::size_t>(count - 1));
    ASSERT_EQ(all.size(), distances.size()) << count;
    ASSERT_TRUE(count == 1 || (*all.begin() == 1 && *all.rbegin() == count - 1)) << count;
  }
}

TEST(SpreadDistances, AnyEightInTurnReachAllPartsOfTheCircle) {
  for (int count = 64; count <= 1024; count += 13) {
    const std::vector<int> distances = spread_distances(count);
    for (std::size_t first = 0; first + 8 <= distances.size(); ++first)
      ASSERT_LE(widest_gap(distances, first, first + 8, count), count * 0.3) << count;
  }
}

TEST(SpreadDistances, OfFewAreTheseWhateverTheMachine) {
  EXPECT_EQ(spread_distances(1), (std::vector<int>{}));
  EXPECT_EQ(spread_distances(2), (std::vector<int>{1}));
  EXPECT_EQ(spread_distances(5), (std::vector<int>{3, 1, 4, 2}));
  EXPECT_EQ(spread_distances(8), (std::vector<int>{5, 2, 7, 4, 1, 6, 3}));
}

}  // namespace
}  // namespace espalier::groups
