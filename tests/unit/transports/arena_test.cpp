#include "transports/arena.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "transports/cross_memory.hpp"

namespace espalier::transports {
namespace {

constexpr Bytes mebibyte = 1 << 20;

TEST(Arena, GivesZeroedMemoryAndTakesItBack) {
  const auto arena = Arena::create(mebibyte);
  const auto first = arena->allocate(5000, 1);
  ASSERT_TRUE(first);
  std::memset(arena->at(*first), 0xff, 5000);
  EXPECT_EQ(arena->in_use(), 8192u) << "whole pages";
  arena->release(*first);
  EXPECT_EQ(arena->in_use(), 0u);
  const auto again = arena->allocate(5000, 1);
  ASSERT_EQ(again, first);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(arena->at(*again)[i], std::byte{0});
}

TEST(Arena, HoldsABlockWithTheLeastLimitThatItSaysAndNotWithLess) {
  for (const Bytes block : {1, 4096, 4097, 20'000, 40'000, 300'000, 1'000'000, 5'000'000}) {
    const Bytes least = Arena::least_limit(block);
    EXPECT_TRUE(Arena::create(least)->allocate(block, 1)) << block;
    EXPECT_FALSE(Arena::create(least - 1)->allocate(block, 1)) << block;
  }
}

Bytes bytes_present(const Arena& arena) {
  struct stat file {};
  return fstat(arena.name().fd, &file) == 0 ? static_cast<Bytes>(file.st_blocks) * 512 : 0;
}

TEST(Arena, HasThePagesThatTheirUsersPopulate) {
  const auto arena = Arena::create(mebibyte);
  const Bytes before = bytes_present(*arena);
  const auto block = arena->allocate(16 * 4096, 2);
  EXPECT_EQ(bytes_present(*arena), before) << "or they would lie where the process is that allocates for all";
  EXPECT_TRUE(arena->populate(*block + 5000, 4096));
  EXPECT_EQ(bytes_present(*arena), before + 8192) << "the pages that the part touches";
  EXPECT_TRUE(arena->populate(*block, 16 * 4096));
  EXPECT_EQ(bytes_present(*arena), before + 16 * 4096);
  arena->release(*block);
  arena->release(*block);
  EXPECT_EQ(bytes_present(*arena), before);
}

TEST(Arena, HasThePagesOfShortBlocksAndSaysWhichAreLong) {
  const auto arena = Arena::create(mebibyte);
  for (Bytes bytes = 4096; !Arena::is_long(bytes); bytes += 777) {
    const auto block = arena->allocate(bytes, 1);
    ASSERT_TRUE(block);
    std::memset(arena->at(*block), 1, bytes);  // a signal, were they not there
    arena->release(*block);
  }
}

TEST(Arena, NeverExceedsItsLimit) {
  const auto arena = Arena::create(mebibyte);
  EXPECT_FALSE(arena->allocate(mebibyte + 1, 1));
  const auto half = arena->allocate(mebibyte / 2, 1), rest = arena->allocate(mebibyte / 2, 1);
  ASSERT_TRUE(half && rest);
  EXPECT_FALSE(arena->allocate(1, 1));
  arena->release(*half);
  EXPECT_TRUE(arena->allocate(mebibyte / 2, 1)) << "the gap is filled again";
}

TEST(Arena, ServesTenThousandsOfShortBlocks) {
  const auto arena = Arena::create(Bytes{1} << 30);
  const Bytes before = bytes_present(*arena);
  std::vector<Bytes> blocks;
  for (int i = 0; i < 20'000; ++i) {
    const auto block = arena->allocate(16 << 10, 1);
    ASSERT_TRUE(block);
    arena->at(*block)[100] = std::byte{1};
    blocks.push_back(*block);
  }
  EXPECT_EQ(arena->in_use(), Bytes{20'000} * (16 << 10));
  EXPECT_LT(bytes_present(*arena) - before, Bytes{20'000} * (18 << 10)) << "little is lost between them";
  for (const Bytes block : blocks) arena->release(block);
  EXPECT_EQ(arena->in_use(), 0u);
  const Bytes grown = bytes_present(*arena);
  for (int round = 0; round < 3; ++round) {
    for (Bytes& block : blocks) {
      block = *arena->allocate(16 << 10, 1);
      EXPECT_EQ(arena->at(block)[100], std::byte{0});
      arena->at(block)[100] = std::byte{1};
    }
    for (const Bytes block : blocks) arena->release(block);
  }
  EXPECT_EQ(bytes_present(*arena), grown) << "what was freed is used again";
}

TEST(Arena, FreesABlockWithItsLastUser) {
  const auto arena = Arena::create(mebibyte);
  const auto block = arena->allocate(4096, 3);
  arena->release(*block);
  arena->release(*block);
  EXPECT_EQ(arena->in_use(), 4096u);
  arena->release(*block);
  EXPECT_EQ(arena->in_use(), 0u);
}

TEST(Arena, IsTheSameMemoryForANeighbour) {
  const auto arena = Arena::create(mebibyte);
  const auto block = arena->allocate(4096, 2);
  const pid_t child = fork();
  if (child == 0) {
    const auto same = Arena::open(arena->name());
    same->at(*block)[7] = std::byte{42};
    same->release(*block);
    _exit(same->allocate(4096, 1) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arena->at(*block)[7], std::byte{42});
  EXPECT_EQ(arena->in_use(), 8192u);
}

TEST(Arena, RefusesAFileThatIsNotTheOneNamed) {
  const auto arena = Arena::create(mebibyte);
  ArenaName name = arena->name();
  name.id ^= 1;
  EXPECT_THROW(Arena::open(name), Error);
  EXPECT_THROW(Arena::open({name.pid, 9999, name.id}), Error);
}

TEST(Arena, SurvivesAProcessKilledWhileItHeldTheLock) {
  const auto arena = Arena::create(mebibyte);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0)
      for (;;)
        if (const auto block = arena->allocate(4096, 1)) arena->release(*block);
    usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(arena->allocate(4096, 1));
}

TEST(CrossMemory, CopiesBothWaysBetweenProcesses) {
  std::uint64_t word = 4711;
  if (!CrossMemory::is_allowed(getpid(), &word, 4711)) GTEST_SKIP() << "the system forbids cross-memory attach";
  EXPECT_FALSE(CrossMemory::is_allowed(getpid(), &word, 4712)) << "wrong content is not trusted";
  CrossMemory memory({getpid()});
  std::byte from[3] = {std::byte{1}, std::byte{2}, std::byte{3}}, to[3] = {};
  EXPECT_TRUE(memory.read(LocalRank(0), from, to, 3));
  EXPECT_EQ(to[2], std::byte{3});
  EXPECT_FALSE(memory.read(LocalRank(0), nullptr, to, 3)) << "an unmapped address is refused, not a crash";
}

}  // namespace
}  // namespace espalier::transports
