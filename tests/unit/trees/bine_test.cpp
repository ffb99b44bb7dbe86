#include "trees/bine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace espalier::trees {
namespace {

constexpr int counts[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 64, 100, 255, 256, 1000};

std::vector<Layout> bine_layouts(int root) {
  return {{Shape::knomial, 2, root}, {Shape::knomial, 3, root}, {Shape::knomial, 8, root}, {Shape::binary, 2, root}};
}

/// Around the circle, the shorter way.
int distance(int a, int b, int count) { return std::min((a - b + count) % count, (b - a + count) % count); }

struct Lengths {
  int longest = 0;
  int sum = 0;
};

Lengths measure(const Layout& layout, const std::vector<int>& order) {
  const int count = static_cast<int>(order.size());
  Lengths lengths;
  for (int position = 1; position < count; ++position) {
    const int parent = derive_branch(layout, position, count).parent;
    const int length =
        distance(order[static_cast<std::size_t>(position)], order[static_cast<std::size_t>(parent)], count);
    lengths.longest = std::max(lengths.longest, length);
    lengths.sum += length;
  }
  return lengths;
}

TEST(BineOrder, HasEveryNodeOnceAndTheRootFirst) {
  for (const int count : counts)
    for (const Layout& layout : bine_layouts(count / 3)) {
      const std::vector<int> order = derive_bine_order(layout, count);
      EXPECT_EQ(order.front(), layout.root);
      EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<std::size_t>(count));
      EXPECT_LT(*std::max_element(order.begin(), order.end()), count);
    }
}

// The paper's definition: base -2, and a Gray code of its digits for the place in the tree.
TEST(BineOrder, OfABinomialTreeIsTheNegabinaryOne) {
  for (int count = 2; count <= 1024; count *= 2) {
    const std::vector<int> order = derive_bine_order({Shape::knomial, 2, 0}, count);
    for (int node = 0; node < count; ++node) {
      constexpr unsigned odd_digits = 0xAAAAAAAA;
      const unsigned largest = 0x55555555U & static_cast<unsigned>(count - 1);  // without a negative digit
      const int number = static_cast<unsigned>(node) <= largest ? node : node - count;
      const unsigned digits = (static_cast<unsigned>(number) + odd_digits) ^ odd_digits;
      EXPECT_EQ(order[(digits ^ (digits >> 1)) & static_cast<unsigned>(count - 1)], node) << count;
    }
  }
}

TEST(BineOrder, SendsOverThirdsOfTheArcInsteadOfHalves) {
  const Layout layout{Shape::knomial, 2, 0};
  for (const int child : derive_knomial(0, 64, 2).children) {
    const int to = derive_bine_order(layout, 64)[static_cast<std::size_t>(child)];
    EXPECT_EQ(distance(to, 0, 64), (2 * child + 1) / 3) << child;  // 21, 11, 5, 3, 1, 1
  }
}

TEST(BineOrder, NeverSendsFartherThanTheNaturalOrder) {
  for (const int count : counts)
    for (const Layout& layout : bine_layouts(0)) {
      const Lengths bine = measure(layout, derive_bine_order(layout, count));
      const Lengths natural = measure(layout, derive_natural_order(0, count));
      EXPECT_LE(bine.sum, natural.sum) << count;
    }
}

TEST(BineOrder, KeepsSubtreesTogether) {
  for (const int count : counts)
    for (const Layout& layout : bine_layouts(count / 2)) {
      const std::vector<int> order = derive_bine_order(layout, count);
      for (int position = 1; position < count; ++position) {
        const int end = derive_branch(layout, position, count).end;
        std::set<int> places;  // from the root's place on; no subtree but the root's holds that
        for (int p = position; p < end; ++p)
          places.insert((order[static_cast<std::size_t>(p)] - layout.root + count) % count);
        EXPECT_EQ(*places.rbegin() - *places.begin() + 1, end - position) << count << " at " << position;
      }
    }
}

TEST(BineOrder, IsTheNaturalOneWhereThereIsNoTree) {
  for (const Shape shape : {Shape::flat, Shape::chain, Shape::ring, Shape::scatter_ring})
    EXPECT_EQ(derive_bine_order({shape, 2, 3}, 5), (std::vector<int>{3, 4, 0, 1, 2}));
}

}  // namespace
}  // namespace espalier::trees
