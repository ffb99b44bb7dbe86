#include "mpi/decide/uneven_ways.hpp"

#include <gtest/gtest.h>

namespace espalier::mpi {
namespace {

using execute::Block;
using plan::Operation;

// Of two ranks and a root both ends must come to the same, whatever else they bring.
TEST(UnevenWays, both_ranks_find_the_same_size_in_what_they_bring) {
  const Block to_zero{nullptr, 30}, to_one{nullptr, 50};
  const Block all[] = {to_zero, to_one};
  for (const int root : {0, 1}) {
    const LocalRank other(1 - root);
    const Block& moved = root == 0 ? to_one : to_zero;
    const std::span<const Block> one(&moved, 1);
    EXPECT_EQ(moved_bytes(Operation::scatter, LocalRank(root), {LocalRank(root), all, {}, {}}), moved.bytes);
    EXPECT_EQ(moved_bytes(Operation::scatter, other, {LocalRank(root), {}, one, {}}), moved.bytes);
    EXPECT_EQ(moved_bytes(Operation::gather, LocalRank(root), {LocalRank(root), {}, all, {}}), moved.bytes);
    EXPECT_EQ(moved_bytes(Operation::gather, other, {LocalRank(root), one, {}, {}}), moved.bytes);
  }
}

TEST(UnevenWays, an_alltoalls_size_is_that_of_the_longer_direction) {
  const Block of_zero[] = {{nullptr, 7000}, {nullptr, 50}};  // to itself, to one
  const Block of_one[] = {{nullptr, 30}, {nullptr, 9000}};
  const Block into_zero[] = {{nullptr, 7000}, {nullptr, 30}}, into_one[] = {{nullptr, 50}, {nullptr, 9000}};
  EXPECT_EQ(moved_bytes(Operation::alltoall, LocalRank(0), {LocalRank(0), of_zero, into_zero, {}}), 50u);
  EXPECT_EQ(moved_bytes(Operation::alltoall, LocalRank(1), {LocalRank(0), of_one, into_one, {}}), 50u);
  EXPECT_EQ(moved_bytes({Operation::alltoall, 0, Rank(0), 1, true, {7000, 50, 30, 9000}}), 50u);
}

TEST(UnevenWays, a_rank_with_wrong_arguments_knows_no_size) {
  const Block one[] = {{nullptr, 8}};
  const std::optional<Bytes> unknown;
  EXPECT_EQ(moved_bytes(Operation::scatter, LocalRank(0), {LocalRank(0), {}, one, {}}), unknown);
  EXPECT_EQ(moved_bytes(Operation::gather, LocalRank(1), {LocalRank(0), {}, {}, {}}), unknown);
  EXPECT_EQ(moved_bytes(Operation::alltoall, LocalRank(1), {LocalRank(0), {}, {}, {}}), unknown);
}

}  // namespace
}  // namespace espalier::mpi
