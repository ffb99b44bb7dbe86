// Who is next: little work first, addresses alike, nobody for ever last.

#include "service/fair_queue.hpp"

#include <gtest/gtest.h>

namespace espalier::service {
namespace {

using Queue = FairQueue<std::string>;

std::string drain(Queue& queue) {
  std::string order;
  while (const auto job = queue.pop()) order += *job;
  return order;
}

TEST(FairQueue, GivesBackWhatWasPutInAndThenNothing) {
  Queue queue;
  EXPECT_FALSE(queue.pop());
  queue.push("here", 1, "a");
  EXPECT_EQ(queue.pop(), "a");
  EXPECT_FALSE(queue.pop());
}

TEST(FairQueue, EqualJobsOfOneAddressGoInTheirOrder) {
  Queue queue;
  for (const auto* job : {"a", "b", "c"}) queue.push("here", 5, job);
  EXPECT_EQ(drain(queue), "abc");
}

TEST(FairQueue, LittleWorkOvertakesMuchOfTheSameAddressAndOfOthers) {
  Queue queue;
  for (int i = 0; i < 3; ++i) queue.push("here", 1000, "M");
  queue.push("there", 1000, "M");
  queue.push("here", 10, "a");
  queue.push("elsewhere", 20, "b");
  EXPECT_EQ(drain(queue).substr(0, 2), "ab");
}

TEST(FairQueue, AnAddressOfManyJobsGetsNoMoreThanOneOfFew) {
  Queue queue;
  for (int i = 0; i < 10; ++i) queue.push("many", 100, "m");
  for (int i = 0; i < 3; ++i) queue.push("few", 100, "f");
  const auto order = drain(queue);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 6, 'f'), 3) << order;
}

TEST(FairQueue, MuchWorkIsNotLastForEver) {
  Queue queue;
  queue.push("here", 1000, "M");
  int overtaken = 0;
  for (; overtaken < 1000; ++overtaken) {
    queue.push("there" + std::to_string(overtaken), 100, "s");
    if (queue.pop() == "M") break;
  }
  EXPECT_LE(overtaken, 10);
}

TEST(FairQueue, TakesOnlyWhatIsLittleEnough) {
  Queue queue;
  queue.push("here", 1000, "M");
  EXPECT_FALSE(queue.pop(999));
  queue.push("here", 2000, "N");
  queue.push("here", 500, "s");
  EXPECT_EQ(queue.pop(999), "s");
  EXPECT_EQ(drain(queue), "MN");
}

}  // namespace
}  // namespace espalier::service
