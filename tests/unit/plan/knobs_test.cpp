#include "plan/knobs.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace espalier::plan {
namespace {

std::string complaint(std::string_view knob, std::string_view value) {
  Choice choice;
  try {
    find_knob(knob).set(choice, value);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Knobs, SetWhatTheyAreNamedAfter) {
  Choice choice;
  find_knob("radix").set(choice, "8");
  find_knob("segment").set(choice, "64K");
  find_knob("order").set(choice, "auto");
  find_knob("exchange").set(choice, "bruck");
  EXPECT_EQ(choice.radix, 8);
  EXPECT_EQ(choice.segment, Bytes{64} << 10);
  EXPECT_EQ(choice.order, Order::auto_);
  EXPECT_EQ(choice.exchange, Exchange::bruck);
  find_knob("segment").set(choice, "0");
  EXPECT_EQ(choice.segment, 0u);
}

TEST(Knobs, SayWhichValuesThereAre) {
  EXPECT_EQ(find_knob("radix").values(), "2..64");
  EXPECT_EQ(find_knob("segment").values(), "0|1K..1G");
  EXPECT_EQ(find_knob("levels").values(), "1..3");
  EXPECT_EQ(find_knob("within").values(), "cells|single_copy");
}

TEST(Knobs, RefuseWhatTheyCannotBeAndSayWhatTheyCan) {
  EXPECT_EQ(complaint("radix", "1"), "radix=1: write a whole number from 2 to 64");
  EXPECT_EQ(complaint("radix", "4x"), "radix=4x: write a whole number from 2 to 64");
  EXPECT_EQ(complaint("cell", "16"), "cell=16: write a size from 64 to 64M");
  EXPECT_EQ(complaint("within", "shm"), "within=shm: one of cells, single_copy");
  EXPECT_EQ(
      complaint("colour", "red"),
      "unknown knob 'colour': one of radix, segment, within, cell, cells, groups, exchange, connections, staging, "
      "leaders, order, stores, levels");
}

TEST(Knobs, ReadTheFirstOfTheValuesTheySayThereAre) {
  for (const Knob& knob : knobs()) {
    const std::string values = knob.values(), first = values.substr(0, values.find_first_of("|."));
    Choice choice;
    EXPECT_NO_THROW(knob.set(choice, first)) << knob.name;
  }
}

}  // namespace
}  // namespace espalier::plan
