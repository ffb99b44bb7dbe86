#include "trees/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "trees/reach.hpp"

namespace espalier::trees {
namespace {

using topology::Distances;
using topology::Way;

/// Nodes on leaf switches below spines: 1.57 µs on a leaf, 2.45 µs between leaves (Ranger's), and each node's own rate.
Distances leaves(const std::vector<int>& leaf_of, const std::vector<float>& per_byte = {}) {
  std::vector<Way> matrix;
  for (std::size_t a = 0; a < leaf_of.size(); ++a)
    for (std::size_t b = 0; b < leaf_of.size(); ++b)
      matrix.push_back(
          {leaf_of[a] == leaf_of[b] ? 1.57F : 2.45F, per_byte.empty() ? 1e-3F : std::max(per_byte[a], per_byte[b])});
  return Distances::from_matrix(static_cast<int>(leaf_of.size()), matrix);
}

/// Nodes on leaves in random order, some of them slow.
Distances random_network(std::mt19937& random, int nodes, int leaf_count, bool has_slow) {
  std::vector<int> leaf_of;
  std::vector<float> per_byte;
  for (int n = 0; n < nodes; ++n) {
    leaf_of.push_back(static_cast<int>(random() % static_cast<unsigned>(leaf_count)));
    per_byte.push_back(has_slow && random() % 2 == 0 ? 2e-3F : 1e-3F);
  }
  return leaves(leaf_of, per_byte);
}

std::vector<Layout> layouts(int root) {
  std::vector<Layout> all;
  for (const Bytes bytes : {Bytes{8}, Bytes{4096}, Bytes{1} << 20}) {
    all.push_back({Shape::knomial, 2, root, bytes, 0, false});
    all.push_back({Shape::knomial, 4, root, bytes, 0, false});
    all.push_back({Shape::knomial, 2, root, bytes, 64 << 10, false});
    all.push_back({Shape::knomial, 2, root, bytes, 0, true});
    all.push_back({Shape::binary, 2, root, bytes, 32 << 10, false});
    all.push_back({Shape::chain, 2, root, bytes, 16 << 10, false});
    all.push_back({Shape::ring, 2, 0, bytes, 0, false});
    all.push_back({Shape::scatter_ring, 2, root, bytes, 0, false});
  }
  return all;
}

void expect_permutation(const Order& order, int root, int count) {
  ASSERT_EQ(static_cast<int>(order.node_at.size()), count);
  EXPECT_EQ(order.node_at.front(), root);
  EXPECT_EQ(std::set<int>(order.node_at.begin(), order.node_at.end()).size(), order.node_at.size());
  EXPECT_TRUE(std::all_of(order.node_at.begin(), order.node_at.end(), [&](int n) { return n >= 0 && n < count; }));
}

TEST(Order, HasEveryNodeOnceAndTheRootFirst) {
  std::mt19937 random(1);
  for (int count = 1; count <= 40; count += 1 + count / 8) {
    const Distances network = random_network(random, count, 5, true);
    for (const Layout& layout : layouts(static_cast<int>(random() % static_cast<unsigned>(count))))
      for (const Traversal wanted : {Traversal::natural, Traversal::breadth, Traversal::depth, Traversal::best})
        expect_permutation(derive_order(network, layout, count, wanted), layout.root, count);
  }
}

TEST(Order, IsTheNaturalOneWhenNothingIsKnown) {
  for (const Traversal wanted : {Traversal::breadth, Traversal::depth, Traversal::best}) {
    EXPECT_EQ(derive_order({}, {Shape::knomial, 2, 3}, 5, wanted).node_at, (std::vector<int>{3, 4, 0, 1, 2}));
    EXPECT_EQ(derive_order(leaves({0, 0, 0, 0, 0}), {Shape::chain, 2, 3}, 5, wanted).node_at,
              (std::vector<int>{3, 4, 0, 1, 2}));
  }
}

// Two switches of four nodes, numbered in turn. Depth first, the root's largest subtree gets the root's switch first:
//
//     0 ─► 2, 4, 6 of its own switch below its first child, and what is left of the tree crosses over once per child
TEST(Order, DepthFirstFillsTheFirstSubtreeWithTheRootsOwnSwitch) {
  const Distances network = leaves({0, 1, 0, 1, 0, 1, 0, 1});
  EXPECT_EQ(derive_order(network, {Shape::knomial, 2, 0, 8}, 8, Traversal::depth).node_at,
            (std::vector<int>{0, 7, 3, 5, 2, 1, 4, 6}));
}

// Node 0 and the even ones are slow: a slow root cannot help it, but whoever hands on to most must be fast.
TEST(Order, GivesFastNodesThePositionsThatMostWaitFor) {
  const Distances network = leaves({0, 0, 0, 0, 0, 0, 0, 0}, {2e-3F, 1e-3F, 2e-3F, 1e-3F, 2e-3F, 1e-3F, 2e-3F, 1e-3F});
  const Layout layout{Shape::knomial, 2, 0, 1 << 20};
  const Order order = derive_order(network, layout, 8, Traversal::breadth);
  for (const int heavy : {4, 2, 6}) EXPECT_EQ(order.node_at[static_cast<std::size_t>(heavy)] % 2, 1) << heavy;
  EXPECT_LT(order.reach, derive_order(network, layout, 8, Traversal::natural).reach);
}

// Lab: half the nodes half as fast, 128 nodes: at best rounds / (rounds / 2 + 1/2) = 1.75 times as quick as the worst.
TEST(Order, MakesAMixedClusterNearlyAsQuickAsAFastOne) {
  std::vector<float> mixed, fast(128, 1e-3F);
  std::mt19937 random(5);
  for (int n = 0; n < 128; ++n) mixed.push_back(n % 2 == 0 ? 1e-3F : 2e-3F);
  std::shuffle(mixed.begin() + 1, mixed.end(), random);
  const std::vector<int> one_leaf(128);
  const Layout layout{Shape::knomial, 2, 0, 64 << 10};
  const Distances network = leaves(one_leaf, mixed);
  const double natural = derive_order(network, layout, 128, Traversal::natural).reach;
  const double ordered = derive_order(network, layout, 128, Traversal::best).reach;
  const double all_fast = derive_order(leaves(one_leaf, fast), layout, 128, Traversal::natural).reach;
  EXPECT_GT(natural / ordered, 1.4);
  EXPECT_LT(ordered / all_fast, 1.3);
}

TEST(Order, OfAChainCrossesBetweenSwitchesOncePerSwitch) {
  std::mt19937 random(3);
  for (int leaf_count = 2; leaf_count <= 8; ++leaf_count) {
    std::vector<int> leaf_of;
    for (int n = 0; n < 64; ++n) leaf_of.push_back(n % leaf_count);
    std::shuffle(leaf_of.begin(), leaf_of.end(), random);
    const Order order = derive_order(leaves(leaf_of), {Shape::chain, 2, 5, 1 << 20, 64 << 10}, 64, Traversal::best);
    int crossings = 0;
    for (std::size_t p = 1; p < order.node_at.size(); ++p)
      crossings += leaf_of[static_cast<std::size_t>(order.node_at[p])] !=
                   leaf_of[static_cast<std::size_t>(order.node_at[p - 1])];
    EXPECT_EQ(crossings, leaf_count - 1);
  }
}

double exhaustive_best(const Distances& network, const Layout& layout, int count) {
  const Reach reach(network, layout, count);
  std::vector<int> order = derive_natural_order(layout.root, count);
  std::sort(order.begin() + 1, order.end());
  const auto price = [&] { return reach.of(order).last + reach.packing(order); };
  double best = price();
  while (std::next_permutation(order.begin() + 1, order.end())) best = std::min(best, price());
  return best;
}

TEST(Order, IsWithinFivePercentOfTheBestThereIs) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 24; ++round) {
    const int count = 4 + round % 4;
    const Distances network = random_network(random, count, 2 + round % 3, round % 2 == 0);
    for (const Layout& layout : layouts(static_cast<int>(random() % static_cast<unsigned>(count)))) {
      const double found = derive_order(network, layout, count, Traversal::best).reach;
      worst = std::max(worst, found / exhaustive_best(network, layout, count));
    }
  }
  EXPECT_LE(worst, 1.05);
  RecordProperty("worst_ratio", std::to_string(worst));
}

TEST(Order, TakesTheNaturalOneUnlessAnotherIsQuicker) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const Distances network = random_network(random, 24, 4, round % 2 == 0);
    for (const Layout& layout : layouts(0)) {
      const Order best = derive_order(network, layout, 24, Traversal::best);
      const Order natural = derive_order(network, layout, 24, Traversal::natural);
      EXPECT_LE(best.reach, natural.reach);
      if (best.reach == natural.reach) {
        EXPECT_EQ(best.node_at, natural.node_at);
      }
    }
  }
}

// The root of a scatter or gather packs in any other order: that costs as much as its link.
TEST(Order, OfLongScattersIsTheNaturalOne) {
  std::mt19937 random(17);
  const Distances network = random_network(random, 64, 8, false);
  EXPECT_EQ(derive_order(network, {Shape::knomial, 2, 0, 64 << 10, 0, true}, 64, Traversal::best).traversal,
            Traversal::natural);
}

TEST(Order, IsTheSameEveryTime) {
  std::mt19937 random(13);
  const Distances network = random_network(random, 100, 9, true);
  for (const Layout& layout : layouts(17))
    EXPECT_EQ(derive_order(network, layout, 100, Traversal::best).node_at,
              derive_order(network, layout, 100, Traversal::best).node_at);
}

}  // namespace
}  // namespace espalier::trees
