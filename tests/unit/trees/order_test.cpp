#include "trees/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "trees/hypotheses.hpp"
#include "trees/reach.hpp"
#include "trees/rehearsal.hpp"

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

// Half the nodes half as fast, 128 nodes: nodes that hand on are fast, and slow ones wait at the end. A node's messages
// share its link, so that a slow one with many children is what makes the natural order slow.
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
  EXPECT_GT(natural / ordered, 1.35);
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

/// The same, with cables that the nodes of a leaf share.
Distances with_trunks(const std::vector<int>& leaf_of, float per_byte) {
  const int leaf_count = 1 + *std::max_element(leaf_of.begin(), leaf_of.end());
  return leaves(leaf_of).with_trunks({leaf_of, std::vector<float>(static_cast<std::size_t>(leaf_count), per_byte)});
}

double price_of(const Distances& network, const Layout& layout, const std::vector<int>& order) {
  return Reach(network, layout, derive_branches(layout, static_cast<int>(order.size()))).of(order).last;
}

// Four of the binomial tree's messages go from leaf to leaf, most of them while others are still on the way, or one.
TEST(Reach, LetsMessagesWaitForTheCablesThatTheyShare) {
  const Layout layout{Shape::knomial, 2, 0, 10000};
  const std::vector<int> leaf_of = {0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<int> often = {0, 4, 1, 5, 2, 6, 3, 7}, once = {0, 1, 2, 3, 4, 5, 6, 7};
  const Distances free = leaves(leaf_of), thin = with_trunks(leaf_of, 4e-3F);
  EXPECT_GT(price_of(thin, layout, often), price_of(free, layout, often) + 40);
  EXPECT_DOUBLE_EQ(price_of(thin, layout, once), price_of(free, layout, once)) << "alone on the trunk";
  EXPECT_DOUBLE_EQ(price_of(with_trunks(leaf_of, 1e-9F), layout, often), price_of(free, layout, often));
}

TEST(Reach, LetsTheMessagesOfOneNodeShareItsLeafsCables) {
  const Layout layout{Shape::knomial, 4, 0, 10000};
  const std::vector<int> order = {0, 1, 2, 3}, leaf_of = {0, 1, 1, 1};
  // Three messages through the node's own link at 10 µs each; each then meets two others of 20 µs on the trunk.
  EXPECT_NEAR(price_of(leaves(leaf_of), layout, order), 30, 5);
  EXPECT_NEAR(price_of(with_trunks(leaf_of, 2e-3F), layout, order), 50, 5);
}

TEST(Order, KeepsSubtreesTogetherWhereTrunksAreThin) {
  std::vector<int> leaf_of;
  for (int n = 0; n < 64; ++n) leaf_of.push_back(n / 16);
  std::mt19937 random(19);
  std::shuffle(leaf_of.begin(), leaf_of.end(), random);
  const Layout layout{Shape::knomial, 2, 0, 64 << 10};
  const Distances thin = with_trunks(leaf_of, 1e-3F);
  const Order best = derive_order(thin, layout, 64, Traversal::best);
  EXPECT_EQ(best.traversal, Traversal::depth);
  EXPECT_LT(best.reach, 0.96 * derive_order(thin, layout, 64, Traversal::natural).reach);
}

TEST(Order, KeepsTheNaturalOneWhereNothingElseIsClearlyBetter) {
  // Ascending hosts, as schedulers hand them out: the first message crosses, then all stay on their leaves.
  std::vector<int> leaf_of;
  for (int n = 0; n < 64; ++n) leaf_of.push_back(n / 32);
  for (const Bytes bytes : {Bytes{64} << 10, Bytes{1} << 20}) {
    Layout layout{Shape::knomial, 2, 0, bytes};
    layout.goes_up = true;
    EXPECT_EQ(derive_order(with_trunks(leaf_of, 1e-3F), layout, 64, Traversal::best).traversal, Traversal::natural);
  }
}

// Upwards a vertex hears from its children one after the other; downwards they share its link from the start.
TEST(Reach, LetsMessagesUpwardsGoInTurn) {
  Layout layout{Shape::knomial, 4, 0, 10000};
  const std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Distances network = leaves({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  const double down = price_of(network, layout, order);
  layout.goes_up = true;
  EXPECT_LT(price_of(network, layout, order), 0.75 * down);
}

TEST(Reach, LetsAPipelineRunAtThePaceOfItsBusiestTrunk) {
  const Layout layout{Shape::chain, 2, 0, 100 * 10000, 10000};
  const std::vector<int> leaf_of = {0, 1, 0, 1, 0, 1};
  const std::vector<int> to_and_fro = {0, 1, 2, 3, 4, 5}, over_once = {0, 2, 4, 1, 3, 5};
  const Distances network = with_trunks(leaf_of, 1e-3F);
  EXPECT_NEAR(price_of(network, layout, to_and_fro) / price_of(network, layout, over_once), 3, 0.3);
}

TEST(Reach, LetsARingRunAtThePaceOfItsBusiestTrunk) {
  const Layout layout{Shape::ring, 2, 0, 10000};
  const std::vector<int> leaf_of = {0, 1, 0, 1, 0, 1};
  const Distances network = with_trunks(leaf_of, 1e-3F);
  EXPECT_NEAR(price_of(network, layout, {0, 1, 2, 3, 4, 5}) / price_of(network, layout, {0, 2, 4, 1, 3, 5}), 3, 0.6);
}

// Of three messages on eight cables each meets a quarter of another by chance; a single one meets none.
TEST(Reach, LetsTheMessagesOfARingMeetOnCablesThoughTheTrunkIsNeverFull) {
  const Layout layout{Shape::ring, 2, 0, 1000000};
  const std::vector<int> leaf_of = {0, 1, 0, 1, 0, 1}, to_and_fro = {0, 1, 2, 3, 4, 5}, over_once = {0, 2, 4, 1, 3, 5};
  const Distances network = with_trunks(leaf_of, 1e-3F / 8);
  EXPECT_NEAR(price_of(network, layout, to_and_fro) / price_of(network, layout, over_once), 1.25, 0.01);
}

double exhaustive_best(const Distances& network, const Layout& layout, int count) {
  const Reach reach(network, layout, derive_branches(layout, count));
  std::vector<int> order = derive_natural_order(layout.root, count);
  std::sort(order.begin() + 1, order.end());
  const auto price = [&] { return reach.of(order).last + reach.packing(order); };
  double best = price();
  while (std::next_permutation(order.begin() + 1, order.end())) best = std::min(best, price());
  return best;
}

/// The same where leaves are known to have cables for all: nothing is left to guess.
Distances with_ample_trunks(const Distances& network) {
  const std::vector<int> leaf_of = find_islands(network);
  const int leaf_count = 1 + *std::max_element(leaf_of.begin(), leaf_of.end());
  return network.with_trunks({leaf_of, std::vector<float>(static_cast<std::size_t>(leaf_count), 1e-9F)});
}

TEST(Order, IsWithinFivePercentOfTheBestThereIs) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 24; ++round) {
    const int count = 4 + round % 4;
    const Distances network = with_ample_trunks(random_network(random, count, 2 + round % 3, round % 2 == 0));
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

/// Two leaves of so many nodes, in turn, with so many cables each way: node n is reached over cable n mod cables.
Distances joined_by(int cables, int nodes) {
  std::vector<int> leaf_of;
  for (int n = 0; n < nodes; ++n) leaf_of.push_back(n % 2);
  topology::Cables known;
  known.per_byte.assign(static_cast<std::size_t>(2 * cables), 1e-3F);
  for (int leaf = 0; leaf < 2; ++leaf)
    for (int n = 0; n < nodes; ++n) {
      known.begin.push_back(static_cast<int>(known.taken.size()));
      if (n % 2 != leaf) known.taken.push_back(leaf * cables + n / 2 % cables);
    }
  known.begin.push_back(static_cast<int>(known.taken.size()));
  const float trunk = 1e-3F / static_cast<float>(cables);
  return leaves(leaf_of).with_trunks({leaf_of, {trunk, trunk}}).with_cables(known);
}

TEST(Order, TakesNoLongerThanAnyThatMayBeAskedForWhereRoutesAreKnown) {
  for (int cables = 1; cables <= 8; ++cables) {
    const Distances network = joined_by(cables, 24);
    for (Layout layout : layouts(5)) {
      if (layout.shape == Shape::ring) layout.root = 0;
      const Order best = derive_order(network, layout, 24, Traversal::best);
      for (const Traversal wanted : {Traversal::natural, Traversal::breadth, Traversal::depth})
        EXPECT_LE(best.reach, 1.0101 * derive_order(network, layout, 24, wanted).reach) << cables << " cables";
    }
  }
}

TEST(Rehearsal, LetsMessagesMeetOnTheCableThatTheirRoutesShare) {
  const Layout layout{Shape::flat, 2, 0, 100000};
  const std::vector<int> order = {0, 1, 3, 5, 7, 2, 4, 6};
  const std::vector<Branch> branches = derive_branches(layout, 8);
  const Distances one = joined_by(1, 8), four = joined_by(4, 8);
  // Seven messages of 100 µs through the root's own link, four of them over the cable: never more than the link.
  EXPECT_NEAR(Rehearsal(one, layout, branches).of(order), 700, 15);
  EXPECT_NEAR(Rehearsal(four, layout, branches).of(order), 700, 15);
  // With a tenth of a cable left the four take 4 x 1000 µs on the one, and 1000 µs on four.
  EXPECT_NEAR(Rehearsal(one, layout, branches).of(order, 0.1), 4000, 60);
  EXPECT_NEAR(Rehearsal(four, layout, branches).of(order, 0.1), 1000, 60);
}

TEST(Hypotheses, FindIslandsByLatency) {
  EXPECT_EQ(find_islands(leaves({0, 1, 0, 1})), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(find_islands(leaves({0, 0, 0})), (std::vector<int>{0, 0, 0})) << "equally far apart";
}

// What is better where cables are many and worse where they are few is no reason to leave the natural order.
TEST(Order, IsOnlyLeftForOneThatIsBetterWhateverTheNetworkIsLike) {
  std::mt19937 random(23);
  for (int round = 0; round < 40; ++round) {
    const Distances network = random_network(random, 20, 3, round % 2 == 0);
    for (const Layout& layout : layouts(0)) {
      const std::vector<Branch> branches = derive_branches(layout, 20);
      const Hypotheses hypotheses(network, layout, branches);
      const std::vector<int> best = derive_order(network, layout, 20, Traversal::best).node_at;
      const std::vector<int> natural = derive_natural_order(layout.root, 20);
      for (int guess = 0; guess < hypotheses.count(); ++guess)
        EXPECT_LE(hypotheses.time(best, guess), hypotheses.time(natural, guess)) << guess;
    }
  }
}

}  // namespace
}  // namespace espalier::trees
