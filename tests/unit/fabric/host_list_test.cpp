#include "fabric/dumps/host_list.hpp"

#include <gtest/gtest.h>

#include "fabric/dumps/fault.hpp"

namespace espalier::fabric {
namespace {

using Names = std::vector<std::string>;

Names expand(const char* text) { return expand_host_list(text, 1000); }

TEST(HostList, RangesKeepTheirLeadingZerosAndOrder) {
  EXPECT_EQ(expand("tux[08-11,3],login"), (Names{"tux08", "tux09", "tux10", "tux11", "tux3", "login"}));
}

TEST(HostList, SeveralBracketsMultiplyAndNamesGoOnBehindThem) {
  EXPECT_EQ(expand("r[1-2]n[1-2].ib"), (Names{"r1n1.ib", "r1n2.ib", "r2n1.ib", "r2n2.ib"}));
}

TEST(HostList, NothingIsNobody) { EXPECT_TRUE(expand("").empty()); }

TEST(HostList, BrokenListsAreBadRecords) {
  for (const auto* text : {"a[1-2", "a[x]", "a[3-1]", "a[1-]", "a[1][1][1][1][1][1][1][1][1][1]"})
    EXPECT_THROW(expand(text), FabricError) << text;
}

TEST(HostList, HugeListsAreRefusedBeforeTheyAreMade) {
  EXPECT_THROW(expand("a[0-18446744073709551615]"), FabricError);
  EXPECT_THROW(expand("a[1-999]b[1-999]c[1-999]"), FabricError);
  EXPECT_THROW(expand("a[18446744073709551000-18446744073709551615],b[1-999]"), FabricError);
}

TEST(HostList, CompressedListsReadBack) {
  for (const Names& names : {Names{"n1", "n2", "n3"}, Names{"n08", "n09", "n10", "login"}, Names{"a", "b1", "b3", "b4"},
                             Names{"leaf-01", "leaf-02", "spine-1"}, Names{"n99999999999999999999"}, Names{}})
    EXPECT_EQ(expand_host_list(compress_host_list(names), 1000), names);
  EXPECT_EQ(compress_host_list({"n1", "n2", "n3", "n7"}), "n[1-3,7]");
}

}  // namespace
}  // namespace espalier::fabric
