#include "mpi/nonblocking/reentrant_mutex.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace espalier::mpi {
namespace {

TEST(ReentrantMutexTest, OneThreadIsInsideAtATime) {
  ReentrantMutex mutex;
  int count = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        const std::unique_lock outer(mutex);
        const std::unique_lock inner(mutex);
        ++count;
      }
    });
  threads.clear();
  EXPECT_EQ(count, 40000);
}

TEST(ReentrantMutexTest, ItIsFreeWhenItWasGivenBackAsOftenAsTaken) {
  ReentrantMutex mutex;
  const auto is_free = [&] {
    bool got = false;
    std::jthread([&] {
      got = mutex.try_lock();
      if (got) mutex.unlock();
    }).join();
    return got;
  };
  mutex.lock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_FALSE(is_free());
  mutex.unlock();
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace espalier::mpi
