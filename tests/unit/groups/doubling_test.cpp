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

TEST(Circles, OfTwoAreThePartners) {
  for (int count = 1; count <= 70; ++count)
    for (int node = 0; node < count; ++node) {
      const Doubling doubling = derive_doubling(node, count);
      const std::vector<Circle> circles = derive_circles(node, count, 3);  // the power of two below
      ASSERT_EQ(circles.size(), doubling.partners.size());
      for (std::size_t k = 0; k < circles.size(); ++k) {
        ASSERT_EQ(circles[k].nodes.size(), 2u);
        EXPECT_EQ(circles[k].nodes[static_cast<std::size_t>(1 - circles[k].position)], doubling.partners[k]);
        EXPECT_EQ(circles[k].position, doubling.place >> k & 1);
      }
    }
}

TEST(Circles, AreTheSameForAllTheirNodesAndCoverEveryoneInFewRounds) {
  for (const int radix : {4, 8, 16})
    for (int count = 2; count <= 70; ++count)
      for (int node = 0; node < count; ++node) {
        int covered = 1;
        const std::vector<Circle> circles = derive_circles(node, count, radix);
        for (std::size_t k = 0; k < circles.size(); ++k) {
          const std::vector<int>& nodes = circles[k].nodes;
          EXPECT_EQ(nodes[static_cast<std::size_t>(circles[k].position)], node);
          EXPECT_LE(static_cast<int>(nodes.size()), radix);
          for (const int other : nodes) EXPECT_EQ(derive_circles(other, count, radix)[k].nodes, nodes);
          covered *= static_cast<int>(nodes.size());
        }
        if (!circles.empty()) {
          EXPECT_EQ(covered, static_cast<int>(std::bit_floor(static_cast<unsigned>(count))));
        } else {
          EXPECT_GE(derive_doubling(node, count).lends_to, 0);
        }
      }
}

}  // namespace
}  // namespace espalier::groups
