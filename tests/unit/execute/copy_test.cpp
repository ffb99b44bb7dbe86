#include "execute/copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

namespace espalier::execute {
namespace {

TEST(CopyStreaming, CopiesAnyStretchToAnyPlaceAndNothingElse) {
  std::vector<std::byte> source(1000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251);
  for (Bytes from = 0; from < 65; from += 8)
    for (Bytes to = 0; to < 65; ++to)
      for (const Bytes bytes : {0, 1, 63, 64, 65, 127, 128, 500}) {
        std::vector<std::byte> target(600, std::byte{255}), expected = target;
        copy_streaming(target.data() + to, source.data() + from, bytes);
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        ASSERT_EQ(target, expected) << bytes << " bytes from " << from << " to " << to;
      }
}

TEST(CopyBytes, CopiesAnyStretchToAnyPlaceAndNothingElse) {
  std::vector<std::byte> source(9000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251);
  for (Bytes to = 0; to < 49; ++to)
    for (const Bytes bytes : {0, 1, 1023, 2047, 2048, 2049, 4096, 8200}) {
      std::vector<std::byte> target(9000, std::byte{255}), expected = target;
      copy_bytes(target.data() + to, source.data() + 16, bytes);
      std::copy_n(source.begin() + 16, bytes, expected.begin() + static_cast<std::ptrdiff_t>(to));
      ASSERT_EQ(target, expected) << bytes << " bytes to " << to;
    }
}

TEST(CopyBytes, KnowsWhereATargetLiesJustBehindItsSourceWhateverPagesTheyAreIn) {
  std::vector<std::byte> memory(1);
  const std::byte* const from = memory.data();
  for (const Bytes pages : {0, 1, 77})
    for (const Bytes behind : {1, 8, 16, 31}) EXPECT_TRUE(is_just_behind(from + pages * 4096 + behind, from)) << behind;
  for (const Bytes behind : {0, 32, 64, 2048, 4080, 4095}) EXPECT_FALSE(is_just_behind(from + behind, from)) << behind;
  EXPECT_FALSE(is_just_behind(from, from + 8)) << "before it";
}

TEST(CopyForReader, CopiesTheSameWhicheverWayItGoes) {
  std::vector<std::byte> source(20'000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251);
  for (const bool is_streamed : {false, true})
    for (const bool is_timed : {false, true}) {
      Closeness closeness;
      std::vector<std::byte> target(source.size());
      copy_for_reader(target.data(), source.data(), source.size(), {is_streamed, false, false, is_timed}, closeness);
      EXPECT_EQ(target, source) << is_streamed << is_timed;
    }
}

/// Whether lines are taken over, outside of trials.
bool takes_over(Closeness& closeness) {
  Way way;
  do way = closeness.next(true);
  while (way.is_trial);
  return way.is_taken;
}

TEST(CopyForReader, LearnsWhenItIsTimedAndNotElse) {
  std::vector<std::byte> source(16 << 10), target(source.size());
  Closeness closeness;
  closeness.learn({}, 1 << 10, std::chrono::hours(1));
  closeness.learn({false, true}, 1 << 10, std::chrono::seconds(1));
  copy_for_reader(target.data(), source.data(), source.size(), {}, closeness);
  EXPECT_TRUE(takes_over(closeness));
  copy_for_reader(target.data(), source.data(), source.size(), {false, false, false, true}, closeness);
  EXPECT_FALSE(takes_over(closeness)) << "nobody has copies of these lines";
}

TEST(CopyTakingOver, CopiesAnyStretchAndLeavesItsSourceAsItIs) {
  std::vector<std::byte> source(9000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251);
  const std::vector<std::byte> before = source;
  for (const Bytes from : {0, 1, 63})
    for (const Bytes bytes : {0, 1, 64, 4095, 4096, 4097, 8200}) {
      std::vector<std::byte> target(9000, std::byte{255}), expected = target;
      copy_taking_over(target.data() + 5, source.data() + from, bytes);
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes, expected.begin() + 5);
      ASSERT_EQ(target, expected) << bytes << " bytes from " << from;
      ASSERT_EQ(source, before);
    }
}

TEST(TakeOver, WritesIntoEveryLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr Bytes page = 4096;
  auto* const pages =
      static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(pages), MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_READ), 0);
  std::vector<std::byte> target(2 * page);
  take_over(pages, page);
  copy_bytes(target.data(), pages, 2 * page);
  EXPECT_DEATH(take_over(pages + page - 64, 128), "") << "the second line cannot be written";
  EXPECT_DEATH(copy_taking_over(target.data(), pages, 2 * page), "");
  munmap(pages, 2 * page);
}

TEST(TakeOver, LeavesEveryByteAsItIs) {
  std::vector<std::byte> memory(300);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i % 251);
  const std::vector<std::byte> before = memory;
  take_over(memory.data() + 1, 298);
  EXPECT_EQ(memory, before);
}

}  // namespace
}  // namespace espalier::execute
