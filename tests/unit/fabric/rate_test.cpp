#include "fabric/rate.hpp"

#include <gtest/gtest.h>

namespace espalier::fabric {
namespace {

TEST(Rate, NamesGiveDataAfterLineCoding) {
  EXPECT_DOUBLE_EQ(parse_rate("4xSDR")->gbps(), 8);
  EXPECT_DOUBLE_EQ(parse_rate("12xQDR")->gbps(), 96);
  EXPECT_DOUBLE_EQ(parse_rate("2xHDR")->gbps(), 100);
  EXPECT_DOUBLE_EQ(parse_rate("4xXDR")->gbps(), 800);
}

TEST(Rate, ASpeedThatIsNotKnownKeepsItsNameAndClaimsNothing) {
  const auto rate = parse_rate("4xZDR");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->text(), "4xZDR");
  EXPECT_EQ(rate->gbps(), 0);
}

TEST(Rate, SignallingRatesAreRecognisedWholeAndCut) {
  EXPECT_EQ(rate_of(4, 25.78125).text(), "4xEDR");
  EXPECT_EQ(rate_of(4, 25.0).text(), "4xEDR");
  EXPECT_EQ(rate_of(4, 2.5).text(), "4xSDR");
  EXPECT_EQ(rate_of(4, 10.0).text(), "4xQDR");
  EXPECT_EQ(rate_of(4, 14.0).text(), "4xFDR");
  EXPECT_EQ(rate_of(2, 50.0).text(), "2xHDR");
  EXPECT_EQ(rate_of(4, 106.25).text(), "4xNDR");
}

TEST(Rate, ASignallingRateOfNoGenerationIsTakenAtItsWord) { EXPECT_DOUBLE_EQ(rate_of(4, 400.0).gbps(), 1600); }

TEST(Rate, WhatIsNoRateIsNone) {
  for (const auto* text : {"", "4x", "x", "QDR", "0xQDR", "999xQDR", "4xqdr!", "4 xQDR"}) {
    const auto rate = parse_rate(text);
    EXPECT_TRUE(!rate || rate->gbps() == 0) << text;
  }
}

}  // namespace
}  // namespace espalier::fabric
