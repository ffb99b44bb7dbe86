#include "groups/far_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace espalier::groups {
namespace {

int at(const std::vector<int>& order, int position) { return order[static_cast<std::size_t>(position)]; }

TEST(FarFirst, HasEveryNodeOnce) {
  for (int count = 1; count <= 70; ++count) {
    std::vector<int> order = derive_far_first(count), all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, all) << count;
  }
}

TEST(FarFirst, DoublesWithPartnersThatAreEverNearer) {
  EXPECT_EQ(derive_far_first(8), (std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7}));
  const std::vector<int> order = derive_far_first(64);
  for (int position = 0; position < 64; ++position)
    for (int width = 1, distance = 32; width < 64; width *= 2, distance /= 2)
      EXPECT_EQ(std::abs(at(order, position) - at(order, position ^ width)), distance);
}

}  // namespace
}  // namespace espalier::groups
