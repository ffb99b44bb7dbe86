#include "base/enumerators.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

enum class Wood : unsigned char { oak, larch, auto_ };

static_assert(enumerator_count<Wood> == 3);

TEST(Enumerators, AreCalledWhatTheCodeCallsThem) {
  EXPECT_STREQ(name_enumerator(Wood::oak), "oak");
  EXPECT_STREQ(name_enumerator(Wood::larch), "larch");
}

TEST(Enumerators, ThatWouldBeKeywordsLoseTheirUnderscore) {
  EXPECT_STREQ(name_enumerator(Wood::auto_), "auto");
  EXPECT_EQ(find_enumerator<Wood>("auto"), Wood::auto_);
  EXPECT_EQ(find_enumerator<Wood>("auto_"), std::nullopt);
}

TEST(Enumerators, AreFoundByTheirWholeNamesOnly) {
  EXPECT_EQ(find_enumerator<Wood>("larch"), Wood::larch);
  EXPECT_EQ(find_enumerator<Wood>("lar"), std::nullopt);
  EXPECT_EQ(find_enumerator<Wood>(""), std::nullopt);
}

TEST(Enumerators, ThatAreUnknownAreRefusedWithThoseThatThereAre) {
  EXPECT_EQ(parse_enumerator<Wood>("wood", "oak"), Wood::oak);
  try {
    parse_enumerator<Wood>("wood", "iron");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "wood=iron: one of oak, larch, auto");
  }
}

}  // namespace
}  // namespace espalier
