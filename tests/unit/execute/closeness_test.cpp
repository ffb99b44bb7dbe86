#include "execute/closeness.hpp"

#include <gtest/gtest.h>

namespace espalier::execute {
namespace {

using std::chrono::nanoseconds;

TEST(ClosenessTest, IsNotBelievedBeforeItWasFound) { EXPECT_FALSE(Closeness().is_close()); }

TEST(ClosenessTest, IsWhatWasFoundLast) {
  Closeness closeness;
  closeness.learn(8 << 10, nanoseconds(80));
  EXPECT_TRUE(closeness.is_close());
  closeness.learn(8 << 10, nanoseconds(210));
  EXPECT_FALSE(closeness.is_close());
  closeness.learn(32 << 10, nanoseconds(320));
  EXPECT_TRUE(closeness.is_close()) << "what counts is the time per byte";
}

TEST(ClosenessTest, SaysWhereAReadersLinesAreSlowToTakeAway) {
  Closeness closeness;
  EXPECT_FALSE(closeness.is_slow()) << "not before it was found";
  closeness.learn(16 << 10, nanoseconds(6500));  // taken away one by one, from a distant core
  EXPECT_TRUE(closeness.is_slow());
  EXPECT_FALSE(closeness.is_close());
  closeness.learn(8 << 10, nanoseconds(230));  // a distant core of another machine, several at a time
  EXPECT_FALSE(closeness.is_slow());
}

TEST(ClosenessTest, IsLookedForSoonAndThenNowAndThen) {
  Closeness closeness;
  EXPECT_FALSE(closeness.is_due()) << "nobody has used the memory yet";
  EXPECT_TRUE(closeness.is_due());
  int times = 0;
  for (int i = 0; i < 640; ++i) times += closeness.is_due();
  EXPECT_EQ(times, 10);
}

}  // namespace
}  // namespace espalier::execute
