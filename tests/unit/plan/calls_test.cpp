#include "plan/calls.hpp"

#include <gtest/gtest.h>

namespace espalier::plan {
namespace {

TEST(CallName, IsMpis) {
  EXPECT_EQ(call_name(Operation::gather, BlockSizes::counts, CallForm::nonblocking), "MPI_Igatherv");
  EXPECT_EQ(call_name(Operation::reduce_scatter, BlockSizes::equal), "MPI_Reduce_scatter_block");
  EXPECT_EQ(call_name(Operation::reduce_scatter, BlockSizes::counts), "MPI_Reduce_scatter");
  EXPECT_EQ(call_name(Operation::broadcast, BlockSizes::equal, CallForm::persistent), "MPI_Bcast_init");
  EXPECT_EQ(call_name(Operation::alltoall, BlockSizes::types), "MPI_Alltoallw");
}

TEST(CallName, OfWhatIsNoOperationIsEmpty) {
  EXPECT_EQ(call_name(static_cast<Operation>(99), BlockSizes::counts, CallForm::nonblocking), "");
}

}  // namespace
}  // namespace espalier::plan
