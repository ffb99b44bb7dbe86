#include "trees/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::trees {
namespace {

// The subtree is what hangs from the position, one stretch of positions: itself, then the children's subtrees.
template <class Derive>
void expect_subtree(int position, const Branch& branch, Derive derive) {
  std::vector<int> children = branch.children;
  std::sort(children.begin(), children.end());
  int end = position + 1;
  for (const int child : children) {
    EXPECT_EQ(child, end);
    end = derive(child).end;
  }
  EXPECT_EQ(branch.end, end) << "below " << position;
}

// Parent and child agree about each other, and everyone but the root has a parent that comes earlier: it is a tree.
template <class Derive>
void expect_tree(int count, Derive derive) {
  for (int position = 0; position < count; ++position) {
    const Branch branch = derive(position);
    EXPECT_EQ(branch.parent < 0, position == 0);
    EXPECT_LT(branch.parent, position);
    for (const int child : branch.children) EXPECT_EQ(derive(child).parent, position);
    expect_subtree(position, branch, derive);
    if (position == 0) continue;
    const std::vector<int> siblings = derive(branch.parent).children;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), position), 1) << position << " of " << count;
  }
}

TEST(Knomial, IsATreeForEveryCountAndRadix) {
  for (int radix = 2; radix <= 9; ++radix)
    for (int count = 1; count <= 70; ++count)
      expect_tree(count, [&](int position) { return derive_knomial(position, count, radix); });
}

TEST(Knomial, OfRadix2IsTheBinomialTreeOfTheDrawing) {
  EXPECT_EQ(derive_knomial(0, 8, 2).children, (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(derive_knomial(4, 8, 2).children, (std::vector<int>{6, 5}));
  EXPECT_EQ(derive_knomial(7, 8, 2).parent, 6);
}

TEST(Knomial, IsAsDeepAsTheLogarithm) {
  for (int radix = 2; radix <= 5; ++radix)
    for (int rounds = 1; rounds <= 4; ++rounds) {
      int count = 1;
      for (int i = 0; i < rounds; ++i) count *= radix;
      int depth = 0;
      for (int p = count - 1; p > 0; p = derive_knomial(p, count, radix).parent) ++depth;
      EXPECT_EQ(depth, rounds);
    }
}

TEST(Chain, HandsOnToTheNext) {
  for (int count = 1; count <= 9; ++count)
    expect_tree(count, [&](int position) { return derive_chain(position, count); });
  EXPECT_EQ(derive_chain(3, 9).children, std::vector<int>{4});
}

TEST(Binary, IsATreeOfEqualHalvesForEveryCount) {
  for (int count = 1; count <= 70; ++count) {
    expect_tree(count, [&](int position) { return derive_binary(position, count); });
    for (int position = 0; position < count; ++position) {
      const Branch branch = derive_binary(position, count);
      ASSERT_LE(branch.children.size(), 2u);
      if (branch.children.size() < 2) continue;
      const int left = branch.children[1] - branch.children[0], right = branch.end - branch.children[1];
      EXPECT_TRUE(left == right || left == right + 1) << position << " of " << count;
    }
  }
  EXPECT_EQ(derive_binary(0, 8).children, (std::vector<int>{1, 5}));
  EXPECT_EQ(derive_binary(2, 8).children, std::vector<int>{3});
}

TEST(Flat, HangsEveryoneFromTheRoot) {
  for (int count = 1; count <= 9; ++count)
    expect_tree(count, [&](int position) { return derive_flat(position, count); });
  EXPECT_EQ(derive_flat(0, 4).children, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace espalier::trees
