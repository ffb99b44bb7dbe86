// Who asked: counted by address, the last one first, and never more than there is room for.

#include "service/askers.hpp"

#include <gtest/gtest.h>

namespace espalier::service {
namespace {

TEST(Askers, AreCountedByAddressTheLastOneFirst) {
  Askers askers;
  for (const char* address : {"10.0.0.1", "user 1000", "10.0.0.1"}) askers.note(address);
  const auto all = askers.list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].address, "10.0.0.1");
  EXPECT_EQ(all[0].requests, 2u);
  EXPECT_EQ(all[1].address, "user 1000");
}

TEST(Askers, ForgetWhoHasBeenSilentForLongest) {
  Askers askers;
  for (std::size_t i = 0; i <= Askers::most; ++i) askers.note(std::to_string(i));
  const auto all = askers.list();
  EXPECT_EQ(all.size(), Askers::most);
  for (const Asker& asker : all) EXPECT_NE(asker.address, "0");
}

}  // namespace
}  // namespace espalier::service
