#include <gtest/gtest.h>

#include "mpi/run/shown/watch.hpp"

namespace espalier::mpi {
namespace {

using plan::BlockSizes;
using plan::Call;
using plan::Operation;
using plan::Problem;

TEST(ToldAs, WithoutItACallIsToldAsItsProblemSays) {
  const Call told = ToldAs::told(Problem{Operation::broadcast, 64, Rank(2)});
  EXPECT_EQ(told, (Call{.operation = Operation::broadcast, .root = 2, .bytes = 64}));
  EXPECT_EQ(ToldAs::told_uneven(Operation::gather, 3),
            (Call{.operation = Operation::gather, .blocks = BlockSizes::counts, .root = 3}));
}

// Counts that are all equal come to a problem without any.
TEST(ToldAs, ACallKeepsTheNameThatTheProgramGaveIt) {
  const Call made = {.operation = Operation::gather, .blocks = BlockSizes::counts, .root = 3};
  const ToldAs shown(&made);
  EXPECT_EQ(plan::describe(ToldAs::told(Problem{Operation::gather, 64, Rank(3)})), "MPI_Gatherv of 64 bytes, root 3");
  EXPECT_EQ(ToldAs::told_uneven(Operation::gather, 3), made);
}

TEST(ToldAs, WhileSizesAreExchangedTheCallsOwnIsNotKnown) {
  const Call made = {.operation = Operation::scatter, .blocks = BlockSizes::counts, .root = 3};
  const ToldAs shown(&made);
  EXPECT_EQ(ToldAs::told(Problem{Operation::broadcast, 32, Rank(3)}), made);
}

TEST(ToldAs, ACallWithinAnotherIsItself) {
  const Call made = {.operation = Operation::alltoall, .blocks = BlockSizes::types};
  const ToldAs shown(&made);
  {
    const ToldAs within(nullptr);
    EXPECT_EQ(ToldAs::told(Problem{Operation::barrier}).operation, Operation::barrier);
  }
  EXPECT_EQ(ToldAs::made(), &made);
}

TEST(ToldAs, ACallThatDoesNotBlockKeepsItsFormAndNumber) {
  const Call made = {Operation::allreduce, BlockSizes::equal, plan::CallForm::nonblocking, 0, std::nullopt, 22};
  const Call told = with_size(made, Problem{Operation::allreduce, 4});
  EXPECT_EQ(plan::describe(told), "MPI_Iallreduce of 4 bytes");
  EXPECT_EQ(told.number, 22u);
}

}  // namespace
}  // namespace espalier::mpi
