#include "machine/cpu_set.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

TEST(CpuSet, ReadsAndWritesTheKernelsLists) {
  for (const char* text : {"", "0", "0-3", "0-3,8,10-11", "63-64", "127-130,255", "65535"})
    EXPECT_EQ(CpuSet::parse(text).text(), text);
  EXPECT_EQ(CpuSet::parse("0-1\n").text(), "0-1") << "files end with a line feed";
  EXPECT_EQ(CpuSet::parse("1,0,2-2").text(), "0-2");
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* text : {"x", "-1", "3-1", "1,", ",1", "1 2", "1--2", "0-65536", "99999999999"})
    EXPECT_THROW(CpuSet::parse(text), Error) << text;
}

TEST(CpuSet, ComparesAsASet) {
  const CpuSet low = CpuSet::parse("0-3"), high = CpuSet::parse("64-70"), some = CpuSet::parse("2,66");
  CpuSet both = high;
  both.add(low);
  EXPECT_EQ(both, CpuSet::parse("0-3,64-70"));
  EXPECT_EQ(both.count(), 11);
  EXPECT_TRUE(low.is_within(both));
  EXPECT_FALSE(both.is_within(low));
  EXPECT_TRUE(some.intersects(low) && some.intersects(high) && some.is_within(both));
  EXPECT_FALSE(low.intersects(high));
  EXPECT_TRUE(CpuSet().is_within(low) && CpuSet().is_empty());
  EXPECT_TRUE(both.contains(64));
  EXPECT_FALSE(both.contains(4) || both.contains(4096));
}

TEST(CpuSet, KnowsWhereThisProcessMayRun) { EXPECT_GE(CpuSet::probe_binding().count(), 1); }

}  // namespace
}  // namespace espalier::machine
