#include "plan/calls.hpp"

#include <gtest/gtest.h>

namespace espalier::plan {
namespace {

TEST(CallName, IsMpis) {
  EXPECT_EQ(name_of({Operation::gather, BlockSizes::counts, CallForm::nonblocking}), "MPI_Igatherv");
  EXPECT_EQ(name_of({Operation::reduce_scatter}), "MPI_Reduce_scatter_block");
  EXPECT_EQ(name_of({Operation::reduce_scatter, BlockSizes::counts}), "MPI_Reduce_scatter");
  EXPECT_EQ(name_of({Operation::broadcast, BlockSizes::equal, CallForm::persistent}), "MPI_Bcast_init");
  EXPECT_EQ(name_of({Operation::alltoall, BlockSizes::types}), "MPI_Alltoallw");
}

TEST(CallName, OfWhatIsNoOperationIsEmpty) {
  EXPECT_EQ(name_of({static_cast<Operation>(99), BlockSizes::counts, CallForm::nonblocking}), "");
  EXPECT_EQ(describe({static_cast<Operation>(99)}), "a call");
}

TEST(Call, TellsWhatIsKnownOfIt) {
  EXPECT_EQ(describe({.operation = Operation::broadcast, .root = 3, .bytes = 64}), "MPI_Bcast of 64 bytes, root 3");
  EXPECT_EQ(describe({.operation = Operation::broadcast, .bytes = 0}), "MPI_Bcast of 0 bytes, root 0");
  EXPECT_EQ(describe({.operation = Operation::gather, .root = 1}), "MPI_Gather, root 1");
  EXPECT_EQ(describe({.operation = Operation::allreduce, .root = 1, .bytes = 8}, " of type MPI_INT"),
            "MPI_Allreduce of 8 bytes of type MPI_INT");
  EXPECT_EQ(describe({.bytes = 0}), "MPI_Barrier");
}

TEST(Call, OfAProblemSaysNoSizeWhereNobodyKnowsAll) {
  EXPECT_EQ(call_of(Problem{Operation::scatter, 64, Rank(2)}).bytes, Bytes{64});
  EXPECT_EQ(call_of(Problem{Operation::scatter, 0, Rank(2)}).bytes, Bytes{0});
  EXPECT_EQ(call_of(Problem{Operation::neighbor_alltoall, 0}).bytes, std::nullopt);
  EXPECT_TRUE(call_of(Problem{.operation = Operation::scatter, .bytes = 6, .counts = {4, 8}}).has_counts());
}

}  // namespace
}  // namespace espalier::plan
