#include "flows/agenda.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace espalier::flows {
namespace {

TEST(Agenda, TheEarliestIsFirstAndOfEqualTimesTheLowestNumber) {
  Agenda agenda;
  EXPECT_EQ(agenda.first_time(), Agenda::never);
  for (const int number : {4, 2, 7}) agenda.set(number, 5);
  EXPECT_EQ(agenda.first(), 2);
  agenda.set(7, 1);
  EXPECT_EQ(agenda.first(), 7);
  agenda.set(7, Agenda::never);
  agenda.remove(2);
  EXPECT_EQ(agenda.first(), 4);
  EXPECT_EQ(agenda.first_time(), 5);
}

TEST(Agenda, KeepsOrderWhoeverComesGoesOrMoves) {
  std::mt19937 dice(1);
  Agenda agenda;
  std::map<int, double> in;
  for (int turn = 0; turn < 20000; ++turn) {
    const int number = static_cast<int>(dice() % 100);
    if (dice() % 3 == 0 && in.contains(number)) {
      agenda.remove(number);
      in.erase(number);
    } else {
      agenda.set(number, in[number] = static_cast<double>(dice() % 50));
    }
    std::pair<double, int> first{Agenda::never, 0};
    for (const auto& [who, when] : in) first = std::min(first, std::pair(when, who));
    ASSERT_EQ(agenda.first_time(), first.first);
    if (!in.empty()) {
      ASSERT_EQ(agenda.first(), first.second);
    }
  }
}

}  // namespace
}  // namespace espalier::flows
