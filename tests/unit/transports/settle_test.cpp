#include "transports/settle.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "transports/arena.hpp"

namespace espalier::transports {
namespace {

constexpr Bytes page = 4096;

TEST(Settle, LeavesZeroesThatAllProcessesShareAndTheArenaAsItWas) {
  const auto arena = Arena::create(Bytes{1} << 20);
  const auto other = Arena::open(arena->name());
  const Bytes offset = arena->allocate(4 * page, 1).value();
  std::fill_n(arena->at(offset), 4 * page, std::byte{7});
  const Bytes in_use = arena->in_use();
  ASSERT_TRUE(settle_here(other->at(offset + page), 2 * page));
  EXPECT_EQ(arena->in_use(), in_use);
  EXPECT_EQ(*arena->at(offset), std::byte{7}) << "before the stretch";
  EXPECT_EQ(*arena->at(offset + 3 * page), std::byte{7}) << "behind it";
  EXPECT_EQ(*arena->at(offset + page), *other->at(offset + page));
  *other->at(offset + 2 * page) = std::byte{9};
  EXPECT_EQ(*arena->at(offset + 2 * page), std::byte{9}) << "still the same memory";
}

TEST(Settle, LeavesAloneWhatCannotBeMoved) {
  alignas(page) static std::byte own[page];
  own[5] = std::byte{3};
  EXPECT_TRUE(settle_here(own, page)) << "not shared memory";
  EXPECT_EQ(own[5], std::byte{3});
}

}  // namespace
}  // namespace espalier::transports
