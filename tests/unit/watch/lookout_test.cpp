#include "watch/lookout.hpp"

#include <gtest/gtest.h>

namespace espalier::watch {
namespace {

using execute::LeftToMpi;

Sighting in_call(std::uint32_t calls, LeftToMpi::Doing doing = LeftToMpi::Doing::call) {
  Sighting seen;
  seen.community = 7;
  seen.pid = 100;
  seen.left = {doing, plan::Operation::allreduce, plan::BlockSizes::equal, calls};
  return seen;
}

TEST(LeftToMpi, IsOneWord) {
  const LeftToMpi left{LeftToMpi::Doing::set_up, plan::Operation::neighbor_alltoall, plan::BlockSizes::types,
                       0x89ab'cdef};
  EXPECT_EQ(LeftToMpi::from_word(left.to_word()), left);
}

TEST(LeftToMpi, CountsCalls) {
  const auto begun_after = [](std::uint32_t calls) {
    const LeftToMpi before{LeftToMpi::Doing::nothing, plan::Operation::barrier, plan::BlockSizes::equal, calls};
    return LeftToMpi::begin(before.to_word(), LeftToMpi::Doing::call, {plan::Operation::scan});
  };
  EXPECT_EQ(LeftToMpi::from_word(begun_after(4)),
            (LeftToMpi{LeftToMpi::Doing::call, plan::Operation::scan, plan::BlockSizes::equal, 5}));
  EXPECT_EQ(LeftToMpi::from_word(begun_after(0xffff'ffff)).calls, 0u) << "and spoils nothing when it goes around";
  EXPECT_EQ(LeftToMpi::from_word(LeftToMpi::end(begun_after(4))).doing, LeftToMpi::Doing::nothing);
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
