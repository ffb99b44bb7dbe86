#include "mpi/observe/check/record.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace espalier::mpi {
namespace {

CallRecord a_broadcast(std::optional<Bytes> bytes = 64, const char* type = "MPI_INT", int root = 0) {
  CallRecord record;
  record.call = {.operation = plan::Operation::broadcast, .root = root, .bytes = bytes};
  std::memcpy(record.type, type, std::strlen(type));
  return record;
}

CallRecord a_barrier() {
  CallRecord record;
  record.call.bytes = 0;
  return record;
}

std::string found(const std::vector<CallRecord>& records) {
  const auto misfit = find_misfit(records);
  return misfit ? describe(*misfit, records) : "";
}

TEST(CallRecord, EqualCallsFit) { EXPECT_EQ(found({a_broadcast(), a_broadcast(), a_broadcast()}), ""); }

TEST(CallRecord, AnotherOperationIsNamedWithBothRanks) {
  EXPECT_EQ(found({a_broadcast(), a_broadcast(), a_barrier()}),
            "rank 0 calls MPI_Bcast of 64 bytes of type MPI_INT, root 0, and rank 2 MPI_Barrier");
}

TEST(CallRecord, AnotherRootIsNamed) {
  EXPECT_EQ(found({a_broadcast(), a_broadcast(64, "MPI_INT", 1)}),
            "rank 0 calls MPI_Bcast of 64 bytes of type MPI_INT, root 0, and rank 1 MPI_Bcast of 64 bytes of type "
            "MPI_INT, root 1");
}

TEST(CallRecord, AnotherSizeIsNamedUnlessARankDoesNotKnowIt) {
  EXPECT_NE(found({a_broadcast(64), a_broadcast(32)}), "");
  EXPECT_EQ(found({a_broadcast(64), a_broadcast(std::nullopt), a_broadcast(64)}), "");
  EXPECT_NE(found({a_broadcast(std::nullopt), a_broadcast(64), a_broadcast(32)}), "");
}

TEST(CallRecord, AnotherTypeIsNamedUnlessItSaysNothing) {
  EXPECT_NE(found({a_broadcast(64, "MPI_INT"), a_broadcast(64, "MPI_FLOAT")}), "");
  EXPECT_EQ(found({a_broadcast(64, "MPI_INT"), a_broadcast(64, "")}), "");
}

TEST(CallRecord, AnotherOperationOfAReductionIsNamed) {
  CallRecord sum = a_broadcast(), largest = a_broadcast();
  sum.call.operation = largest.call.operation = plan::Operation::allreduce;
  std::memcpy(sum.op, "MPI_SUM", 7);
  std::memcpy(largest.op, "MPI_MAX", 7);
  EXPECT_EQ(
      found({sum, sum, largest}),
      "rank 0 calls MPI_Allreduce of 64 bytes of type MPI_INT by MPI_SUM, and rank 2 MPI_Allreduce of 64 bytes of "
      "type MPI_INT by MPI_MAX");
}

TEST(Shares, TheFirstRankThatSendsSomethingElseIsNamed) {
  const Shares mine{{}, {4, 8, Shares::unknown, 16}};
  EXPECT_EQ(find_misfit(mine, std::vector<std::int64_t>{4, 8, 99, 16}).sender, ShareMisfit::none);
  EXPECT_EQ(find_misfit(mine, std::vector<std::int64_t>{4, Shares::unknown, 0, 16}).sender, ShareMisfit::none);
  const ShareMisfit misfit = find_misfit(mine, std::vector<std::int64_t>{4, 8, 99, 12});
  CallRecord record = a_broadcast();
  record.call.operation = plan::Operation::gather;
  record.call.blocks = plan::BlockSizes::counts;
  EXPECT_EQ(describe(misfit, 0, record), "rank 3 sends 12 bytes to rank 0, which expects 16, in MPI_Gatherv");
}

TEST(Shares, AnEdgeThatOnlyOneEndHasIsNamed) {
  CallRecord record = a_broadcast();
  record.call.operation = plan::Operation::neighbor_alltoall;
  const auto said = [&](std::int64_t expected, std::int64_t sent) {
    const ShareMisfit misfit = find_misfit(Shares{{}, {0, expected}}, std::vector<std::int64_t>{0, sent});
    return misfit.sender == ShareMisfit::none ? "" : describe(misfit, 0, record);
  };
  EXPECT_EQ(said(Shares::no_edge, Shares::no_edge), "");
  EXPECT_EQ(said(Shares::no_edge, Shares::unknown), "");
  EXPECT_EQ(said(Shares::no_edge, 0),
            "rank 1 has an edge to rank 0, which has none from it, in MPI_Neighbor_alltoall: their graphs do not fit");
  EXPECT_EQ(said(8, Shares::no_edge),
            "rank 0 has an edge from rank 1, which has none to it, in MPI_Neighbor_alltoall: their graphs do not fit");
}

TEST(CallRecord, ACallThatDoesNotBlockFitsToNoneThatDoes) {
  CallRecord started = a_broadcast();
  started.call.form = plan::CallForm::nonblocking;
  EXPECT_EQ(found({started, started}), "");
  EXPECT_EQ(found({started, a_broadcast()}),
            "rank 0 calls MPI_Ibcast of 64 bytes of type MPI_INT, root 0, and rank 1 MPI_Bcast of 64 bytes "
            "of type MPI_INT, root 0");
}

TEST(CallRecord, AFormWithCountsIsAnotherOperation) {
  CallRecord with_counts = a_broadcast();
  with_counts.call.blocks = plan::BlockSizes::counts;
  EXPECT_NE(found({a_broadcast(), with_counts}), "");
}

TEST(CallRecord, TheGravestMisfitComesFirst) {
  const std::vector<CallRecord> records{a_broadcast(), a_broadcast(32), a_broadcast(64, "MPI_INT", 2)};
  const auto misfit = find_misfit(records);
  ASSERT_TRUE(misfit);
  EXPECT_EQ(misfit->kind, Misfit::root);
  EXPECT_EQ(misfit->other, 2);
}

}  // namespace
}  // namespace espalier::mpi
