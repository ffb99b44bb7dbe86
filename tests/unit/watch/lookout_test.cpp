#include "watch/lookout.hpp"

#include <gtest/gtest.h>

namespace espalier::watch {
namespace {

using execute::LeftToMpi;

Sighting in_call(std::uint32_t calls, LeftToMpi::Doing doing = LeftToMpi::Doing::call) {
  Sighting seen;
  seen.community = 7;
  seen.pid = 100;
  seen.left = {doing, plan::Operation::allreduce, plan::BlockSizes::equal, calls, 0};
  return seen;
}

TEST(LeftToMpi, IsOneWord) {
  const LeftToMpi left{LeftToMpi::Doing::unserved_call, plan::Operation::neighbor_alltoall, plan::BlockSizes::types,
                       0x89ab'cdef, 0x4567};
  EXPECT_EQ(LeftToMpi::from_word(left.to_word()), left);
}

TEST(LeftToMpi, CountsCallsOfItsCommunicatorApartFromThoseOfOthers) {
  const auto begin = [](const LeftToMpi& before, LeftToMpi::Doing doing) {
    return LeftToMpi::from_word(
        LeftToMpi::begin(before.to_word(), doing, plan::Operation::scan, plan::BlockSizes::equal));
  };
  const LeftToMpi before{LeftToMpi::Doing::nothing, plan::Operation::barrier, plan::BlockSizes::equal, 4, 0xffff};
  EXPECT_EQ(begin(before, LeftToMpi::Doing::call),
            (LeftToMpi{LeftToMpi::Doing::call, plan::Operation::scan, plan::BlockSizes::equal, 5, 0xffff}));
  EXPECT_EQ(begin(before, LeftToMpi::Doing::unserved_call),
            (LeftToMpi{LeftToMpi::Doing::unserved_call, plan::Operation::scan, plan::BlockSizes::equal, 4, 0}));
  EXPECT_EQ(LeftToMpi::from_word(LeftToMpi::end(before.to_word())).doing, LeftToMpi::Doing::nothing);
}

TEST(Lookout, KnowsForHowLongItHasSeenTheSame) {
  Lookout lookout;
  EXPECT_EQ(lookout.look({in_call(5)}, 1'000'000'000).front().left_seconds, 0);
  EXPECT_EQ(lookout.look({in_call(5)}, 3'000'000'000).front().left_seconds, 2);
  EXPECT_EQ(lookout.look({in_call(5)}, 4'000'000'000).front().left_seconds, 3) << "since the first look";
  EXPECT_EQ(lookout.look({in_call(6)}, 5'000'000'000).front().left_seconds, 0) << "another call";
}

TEST(Lookout, WhoIsInNoCallHasNotBeenInOneForLong) {
  Lookout lookout;
  lookout.look({in_call(5, LeftToMpi::Doing::nothing)}, 1'000'000'000);
  EXPECT_EQ(lookout.look({in_call(5, LeftToMpi::Doing::nothing)}, 3'000'000'000).front().left_seconds, 0);
}

TEST(Lookout, AnotherProcessInTheSamePlaceIsAnotherRank) {
  Lookout lookout;
  lookout.look({in_call(5)}, 1'000'000'000);
  Sighting other = in_call(5);
  other.pid = 101;
  EXPECT_EQ(lookout.look({other}, 3'000'000'000).front().left_seconds, 0);
}

TEST(Lookout, ForgetsWhoIsNotSeenAnyMore) {
  Lookout lookout;
  lookout.look({in_call(5)}, 1'000'000'000);
  lookout.look({}, 2'000'000'000);
  EXPECT_EQ(lookout.look({in_call(5)}, 3'000'000'000).front().left_seconds, 0);
}

}  // namespace
}  // namespace espalier::watch
