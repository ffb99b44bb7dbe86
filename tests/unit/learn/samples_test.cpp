#include "learn/samples.hpp"

#include <gtest/gtest.h>

using namespace espalier::learn;

TEST(Samples, count_from_the_last_arrival_to_the_last_end) {
  // Two ranks, two calls: in the first, rank 1 comes 5 us late; in the second, rank 0 leaves long before it.
  const std::vector<Sample> samples{{1'000, 9'000}, {20'000, 20'500}, {6'000, 8'000}, {20'100, 26'000}};
  EXPECT_EQ(derive_times(samples, 2), (std::vector<double>{3.0, 5.9}));
}

TEST(Samples, of_a_call_that_nobody_waited_in_take_more_than_nothing) {
  // The root of a broadcast may have left before others come.
  EXPECT_GT(derive_times(std::vector<Sample>{{0, 100}, {50'000, 50'000}}, 1).front(), 0);
}

TEST(Samples, have_a_median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({9, 1, 2, 4}), 3);
}

TEST(Samples, tell_how_far_off_their_median_may_be) {
  EXPECT_EQ(derive_error({}), 0);
  EXPECT_EQ(derive_error({5}), 0);
  EXPECT_EQ(derive_error({4, 8}), 2);
  std::vector<double> values, disturbed;
  for (int i = 0; i < 64; ++i) values.push_back(100 + i % 8), disturbed.push_back(i == 5 ? 1e6 : 100 + i % 8);
  EXPECT_NEAR(derive_error(values), 1.253 / 1.349 * 4 / 8, 1e-9);
  EXPECT_EQ(derive_error(values), derive_error(disturbed)) << "one call that was disturbed";
}

TEST(Samples, tell_how_far_off_their_least_may_be) {
  EXPECT_EQ(derive_gap({}), 0);
  EXPECT_EQ(derive_gap({3}), 0);
  EXPECT_EQ(derive_gap({900, 7, 100, 5}), 2);
}

TEST(Samples, differ_with_a_certainty_that_outliers_do_not_change) {
  const std::vector<double> few{1, 2, 3}, more{4, 5, 6}, wild{4, 5, 6'000};
  EXPECT_EQ(derive_certainty(few, more), derive_certainty(few, wild));
  EXPECT_GT(derive_certainty(few, more), 1.9);
  EXPECT_EQ(derive_certainty(few, few), 0);
  EXPECT_LT(derive_certainty(more, few), -1.9);
  EXPECT_EQ(derive_certainty(few, {}), 0);
}
