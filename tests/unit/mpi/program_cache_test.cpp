#include "mpi/decide/program_cache.hpp"

#include <gtest/gtest.h>

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

class ProgramCacheTest : public testing::Test {
 protected:
  static Problem broadcast(Bytes bytes) { return {Operation::broadcast, bytes, Rank(0)}; }
  static Entry entry(Bytes bytes, std::size_t steps) {
    Entry made;
    made.kind = Entry::Kind::program;
    made.problem = broadcast(bytes);
    made.program = std::make_shared<const plan::Program>(
        plan::Program{.steps = std::vector<plan::Step>(steps, plan::Step::finish(0))});
    made.label = "test";
    return made;
  }

  CacheBudget budget{Bytes{1} << 20, 0};
  Statistics statistics;
};

TEST_F(ProgramCacheTest, FindsWhatWasAddedByOperationBytesAndRoot) {
  ProgramCache cache(budget, statistics);
  EXPECT_EQ(cache.find(broadcast(1)), nullptr);
  cache.add(entry(1, 1));
  cache.add(entry(2, 1));
  ASSERT_NE(cache.find(broadcast(1)), nullptr);
  EXPECT_EQ(cache.find(broadcast(1))->problem.bytes, 1u);
  EXPECT_EQ(cache.find({Operation::broadcast, 1, Rank(1)}), nullptr);
  EXPECT_EQ(cache.find({Operation::allgather, 1, Rank(0)}), nullptr);
}

TEST_F(ProgramCacheTest, FindsAndForgetsAmongManyAsAmongFew) {
  ProgramCache cache(budget, statistics);
  const auto is_found = [&](Bytes bytes) {
    const Entry* const found = cache.find(broadcast(bytes));
    return found != nullptr && found->problem.bytes == bytes;
  };
  for (Bytes bytes = 1; bytes <= 40; ++bytes) {
    cache.add(entry(bytes, 1));
    for (Bytes known = 1; known <= bytes; ++known) EXPECT_TRUE(is_found(known)) << known << " of " << bytes;
    EXPECT_FALSE(is_found(bytes + 1));
  }
  cache.forget_if([](const Entry& it) { return it.problem.bytes % 2 == 0; });
  for (Bytes bytes = 1; bytes <= 40; ++bytes) EXPECT_EQ(is_found(bytes), bytes % 2 == 1) << bytes;
  cache.forget_all();
  EXPECT_FALSE(is_found(1));
  cache.add(entry(1, 1));
  EXPECT_TRUE(is_found(1));
}

TEST_F(ProgramCacheTest, TellsSizesElementsAndOrdersApart) {
  ProgramCache cache(budget, statistics);
  Problem problem{Operation::reduce_scatter, 8, Rank(0), 4, true, {4, 12}};
  const auto add = [&] {
    Entry made;
    made.problem = problem;
    cache.add(std::move(made));
  };
  add();
  EXPECT_NE(cache.find(problem), nullptr);
  problem.counts = {12, 4};
  EXPECT_EQ(cache.find(problem), nullptr);
  add();
  problem.is_commutative = false;
  EXPECT_EQ(cache.find(problem), nullptr);
  problem.is_commutative = true;
  problem.element = 2;
  EXPECT_EQ(cache.find(problem), nullptr);
  problem.element = 4;
  EXPECT_NE(cache.find(problem), nullptr);
}

TEST_F(ProgramCacheTest, ForgetsOneOperationAndHandsItsCountsIn) {
  ProgramCache cache(budget, statistics);
  cache.add(entry(1, 1)).calls = 2;
  Entry other = entry(2, 1);
  other.problem.operation = Operation::barrier;
  cache.add(std::move(other));
  const Bytes used = budget.used;
  cache.forget(Operation::broadcast);
  EXPECT_EQ(cache.find(broadcast(1)), nullptr);
  EXPECT_NE(cache.find({Operation::barrier, 2, Rank(0)}), nullptr);
  EXPECT_LT(budget.used, used);
  EXPECT_NE(statistics.to_text().find("handled 2"), std::string::npos);
}

TEST_F(ProgramCacheTest, DropsTheLeastRecentlyUsedFirst) {
  budget.limit = 5000;  // room for two programs of 2000 bytes
  ProgramCache cache(budget, statistics);
  cache.add(entry(1, 60));
  cache.add(entry(2, 60));
  cache.find(broadcast(1));
  cache.add(entry(3, 60));
  EXPECT_NE(cache.find(broadcast(1)), nullptr);
  EXPECT_EQ(cache.find(broadcast(2)), nullptr);
  EXPECT_NE(cache.find(broadcast(3)), nullptr);
  EXPECT_LE(budget.used, budget.limit);
}

TEST_F(ProgramCacheTest, KeepsAProgramBeyondTheBudgetOnlyUntilTheNext) {
  budget.limit = 5000;
  ProgramCache cache(budget, statistics);
  EXPECT_EQ(cache.add(entry(1, 10'000)).program->steps.size(), 10'000u);
  cache.add(entry(2, 1));
  EXPECT_EQ(cache.find(broadcast(1)), nullptr);
  EXPECT_LE(budget.used, budget.limit);
}

TEST_F(ProgramCacheTest, CommunicatorsShareOneBudget) {
  budget.limit = 5000;
  ProgramCache one(budget, statistics), other(budget, statistics);
  one.add(entry(1, 60));
  one.add(entry(2, 60));
  other.add(entry(3, 60));
  other.add(entry(4, 60));
  EXPECT_EQ(other.find(broadcast(3)), nullptr) << "a full budget leaves the newcomer one entry";
  EXPECT_NE(other.find(broadcast(4)), nullptr);
}

TEST_F(ProgramCacheTest, HandsCountsInWhenAnEntryGoesAndOnlyOnce) {
  {
    ProgramCache cache(budget, statistics);
    cache.add(entry(1, 1)).calls = 3;
    cache.report();
    cache.find(broadcast(1))->calls = 2;
  }
  EXPECT_NE(statistics.to_text().find("handled 5 (5x test)"), std::string::npos) << statistics.to_text();
  EXPECT_EQ(budget.used, 0u);
}

TEST_F(ProgramCacheTest, CountsNativeEntriesAsNative) {
  {
    ProgramCache cache(budget, statistics);
    Entry refused = entry(1, 0);
    refused.kind = Entry::Kind::native;
    cache.add(std::move(refused)).calls = 2;
  }
  EXPECT_NE(statistics.to_text().find("handled 0, native 2 (2x test)"), std::string::npos) << statistics.to_text();
}

}  // namespace
}  // namespace espalier::mpi
