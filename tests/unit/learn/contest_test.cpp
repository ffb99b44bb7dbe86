#include "learn/contest.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

using namespace espalier::learn;

namespace {

constexpr double advance_us = 100'000;

using Time = std::function<double(int contender)>;

struct Course {
  std::vector<int> turns;
  double total_us = 0;
  int exchanges = 0;
};

/// Plays so many calls, of which each takes as long as `time` says.
Course play(Contest& contest, Purse& purse, const Time& time, int calls) {
  Course course;
  std::vector<double> times;
  for (int call = 0; call < calls; ++call) {
    if (contest.is_due()) {
      contest.agree(times, purse);
      times.clear();
      ++course.exchanges;
    }
    const Turn turn = contest.is_settled() ? Turn{contest.best(), false} : contest.next();
    const double us = time(turn.contender);
    if (turn.is_timed) times.push_back(us);
    course.turns.push_back(turn.contender);
    course.total_us += us;
  }
  return course;
}

Time scattered(std::vector<double> medians, std::mt19937& random, double spread = 0.2) {
  return [=, &random](int contender) {
    std::lognormal_distribution<double> noise(0, spread);
    const bool is_disturbed = random() % 50 == 0;
    return medians[static_cast<std::size_t>(contender)] * noise(random) * (is_disturbed ? 20 : 1);
  };
}

Contest of(int contenders) {
  Contest contest;
  contest.admit(contenders);
  return contest;
}

}  // namespace

TEST(Contest, of_what_holds_finds_nothing_out) {
  Contest contest;
  Purse purse(0.01, advance_us);
  contest.expect(14);
  Contest early = contest;
  const Time time = [](int) { return 10; };
  play(early, purse, time, 4);
  EXPECT_FALSE(early.wants_contenders()) << "it is not known yet whether there is anything to find out";
  EXPECT_EQ(play(contest, purse, time, 100).exchanges, 1);
  EXPECT_TRUE(contest.is_settled());
  EXPECT_EQ(contest.contenders(), 1);
}

TEST(Contest, of_what_was_found_on_a_busy_machine_begins_as_if_nothing_were_known) {
  Contest contest;
  Purse purse(0.01, advance_us);
  contest.expect(16);
  const Time time = [](int) { return 10; };
  play(contest, purse, time, 8);
  EXPECT_TRUE(contest.wants_contenders());
}

TEST(Contest, begins_with_the_usual_one) {
  Contest contest = of(3);
  Purse purse(0.01, advance_us);
  EXPECT_EQ(play(
                contest, purse, [](int) { return 1; }, 4)
                .turns,
            (std::vector<int>{0, 0, 0, 0}));
}

TEST(Contest, finds_the_best_whoever_that_is) {
  std::mt19937 random(1);
  for (int best = 0; best < 4; ++best) {
    std::vector<double> medians(4, 10);
    medians[static_cast<std::size_t>(best)] = 8;
    Contest contest = of(4);
    Purse purse(0.01, advance_us);
    play(contest, purse, scattered(medians, random), 2'000);
    EXPECT_TRUE(contest.is_settled());
    EXPECT_EQ(contest.best(), best);
  }
}

TEST(Contest, lets_the_best_so_far_do_the_calls_as_soon_as_each_was_looked_at_twice) {
  Contest contest = of(3);
  Purse purse(0.01, 1e4);  // for the looks, not for rounds
  const Course course = play(
      contest, purse, [](int c) { return c == 2 ? 1'000 : 2'000; }, 4 + 6 + 20);
  EXPECT_EQ(std::set<int>(course.turns.end() - 18, course.turns.end()), std::set<int>{2});
}

TEST(Contest, keeps_the_usual_one_where_the_best_is_hardly_better) {
  Contest contest = of(2);
  Purse purse(0.01, advance_us);
  play(
      contest, purse, [](int c) { return c == 0 ? 10.2 : 10; }, 2'000);
  EXPECT_EQ(contest.best(), 0);
}

TEST(Contest, does_not_try_long_calls_again_that_were_hopeless_twice) {
  Contest contest = of(3);
  Purse purse(0.01, advance_us);
  const Course course = play(
      contest, purse, [](int c) { return c == 1 ? 3'000 : 1'000; }, 500);
  EXPECT_EQ(std::count(course.turns.begin(), course.turns.end(), 1), 2);
  EXPECT_TRUE(contest.finding(1).is_out);
  EXPECT_EQ(contest.finding(1).us, 3'000);
}

TEST(Contest, looks_at_short_calls_more_often_as_they_cost_little_and_are_easily_disturbed) {
  Contest contest = of(2);
  Purse purse(0.01, advance_us);
  int calls_of_1 = 0;
  play(
      contest, purse, [&](int c) { return c == 0             ? 10
                                          : calls_of_1++ < 3 ? 3'000
                                                             : 5; }, 2'000);
  EXPECT_EQ(contest.best(), 1);
}

// One warms up for nine calls, as Intel MPI's broadcasts do; and the usual one's first calls take so long that all are
// taken for long ones.
TEST(Contest, looks_again_where_calls_turn_out_to_be_short) {
  Contest contest = of(3);
  Purse purse(0.01, advance_us);
  std::vector<int> calls(3);
  const Time warming_up = [&](int c) {
    const int call = ++calls[static_cast<std::size_t>(c)];
    if (c == 1) return call < 10 ? 15 : 3.3;
    return call < 5 ? 25 : 4.2;
  };
  play(contest, purse, warming_up, 2'000);
  EXPECT_EQ(contest.best(), 1);
}

TEST(Contest, looks_twice_before_it_calls_anything_hopeless) {
  Contest contest = of(2);
  Purse purse(0.01, advance_us);
  int first_of_1 = 0;
  play(
      contest, purse, [&](int c) { return c == 1 ? (first_of_1++ == 0 ? 1e3 : 5) : 10; }, 500);
  EXPECT_EQ(contest.best(), 1);
}

TEST(Contest, costs_long_calls_no_more_than_the_purse_has) {
  for (const double each : {100.0, 1e4, 1e6}) {
    Contest contest = of(4);
    Purse purse(0.01, advance_us);
    const int calls = 20'000;
    const double best = each, total = play(
                                          contest, purse, [=](int c) { return each * (1 + 0.4 * c); }, calls)
                                          .total_us;
    EXPECT_LT(total - calls * best, 0.01 * total + 100'000 + 8 * each) << each;
    EXPECT_NEAR(purse.spent(), total - calls * best, 0.3 * purse.spent() + each) << each;
  }
}

TEST(Contest, waits_for_the_price_of_long_calls_with_the_one_that_is_best_so_far) {
  Contest contest = of(2);
  Purse purse(0.01, 0);
  const Course course = play(
      contest, purse, [](int) { return 1e5; }, 150);
  EXPECT_EQ(std::count(course.turns.begin(), course.turns.end(), 1), 0);
}

TEST(Contest, begins_anew_where_the_machine_has_changed) {
  Contest contest = of(3);
  Purse purse(0.01, advance_us);
  std::vector<double> times{10, 5, 20};
  const Time time = [&](int c) { return times[static_cast<std::size_t>(c)]; };
  play(contest, purse, time, 1'000);
  ASSERT_EQ(contest.best(), 1);
  contest.check_again();
  EXPECT_FALSE(contest.is_settled());
  const Course same = play(contest, purse, time, 100);
  EXPECT_TRUE(contest.is_settled());
  EXPECT_EQ(std::count(same.turns.begin(), same.turns.end(), 1), 100) << "nothing else is tried";
  EXPECT_EQ(contest.finding(2).us, 20) << "what was found is kept";
  times = {10, 30, 20};
  contest.check_again();
  play(contest, purse, time, 1'000);
  EXPECT_TRUE(contest.is_settled());
  EXPECT_EQ(contest.best(), 0);
}

TEST(Contest, needs_few_exchanges) {
  Contest contest = of(5);
  Purse purse(0.01, advance_us);
  std::mt19937 random(2);
  EXPECT_LE(play(contest, purse, scattered({10, 10, 10, 10, 10}, random), 10'000).exchanges, 6);
  EXPECT_TRUE(contest.is_settled());
}

TEST(Contest, has_no_more_samples_in_a_stage_than_can_be_exchanged) {
  Contest contest = of(9);
  Purse purse(0.01, advance_us);
  std::size_t most = 0, samples = 0;
  std::vector<double> times;
  while (!contest.is_settled()) {
    if (contest.is_due()) {
      samples = 0;
      contest.agree(times, purse);
      times.clear();
      continue;
    }
    if (contest.next().is_timed) {
      times.push_back(10);
      most = std::max(most, ++samples);
    }
  }
  EXPECT_LE(most, static_cast<std::size_t>(Contest::most_samples));
}
