#include "groups/doubling.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace espalier::groups {
namespace {

/// Consecutive nodes whose values one node has combined.
struct Stretch {
  int first = 0;
  int last = 0;  ///< exclusive
};

TEST(Doubling, CombinesNeighbouringRunsInOrderUntilEveryoneHasAll) {
  for (int count = 1; count <= 70; ++count) {
    std::vector<Doubling> all;
    std::vector<Stretch> runs;
    for (int node = 0; node < count; ++node) {
      all.push_back(derive_doubling(node, count));
      runs.push_back({node, node + 1});
    }
    const auto at = [](int node) { return static_cast<std::size_t>(node); };
    for (int node = 0; node < count; ++node)
      if (const int lender = all[at(node)].borrows_from; lender >= 0) {
        EXPECT_EQ(all[at(lender)].lends_to, node);
        EXPECT_EQ(lender, node - 1);
        runs[at(node)].first = lender;
      }
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(count)) - 1);
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::vector<Stretch> before = runs;
      for (int node = 0; node < count; ++node) {
        if (all[at(node)].lends_to >= 0) continue;
        ASSERT_EQ(all[at(node)].partners.size(), rounds);
        const int partner = all[at(node)].partners[round];
        ASSERT_EQ(all[at(partner)].partners[round], node);
        const Stretch& theirs = before[at(partner)];
        const bool is_right = (all[at(node)].place >> round & 1) != 0;
        EXPECT_EQ(partner < node, is_right);
        EXPECT_EQ(is_right ? theirs.last : before[at(node)].last, is_right ? before[at(node)].first : theirs.first);
        runs[at(node)] =
            is_right ? Stretch{theirs.first, runs[at(node)].last} : Stretch{runs[at(node)].first, theirs.last};
      }
    }
    for (int node = 0; node < count; ++node)
      if (all[at(node)].lends_to < 0) {
        EXPECT_EQ(runs[at(node)].first, 0);
        EXPECT_EQ(runs[at(node)].last, count);
      }
  }
}

}  // namespace
}  // namespace espalier::groups
