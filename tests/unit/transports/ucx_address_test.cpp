#include "transports/ucx/address.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"

namespace espalier::transports::ucx {
namespace {

const std::vector<std::byte> worker(100, std::byte{3}), key(20, std::byte{4});
const PeerAddress example{worker, key, 4711};

TEST(UcxAddress, ReadsBackWhatItWroteEvenWhenPadded) {
  std::vector<std::byte> bytes = write_address(example, {});
  bytes.resize(bytes.size() + 50);
  const PeerAddress read = read_address(bytes, {});
  EXPECT_TRUE(std::ranges::equal(read.worker, worker));
  EXPECT_TRUE(std::ranges::equal(read.key, key));
  EXPECT_EQ(read.mailboxes, 4711u);
}

TEST(UcxAddress, RefusesOtherOptions) {
  const std::vector<std::byte> bytes = write_address(example, {});
  EXPECT_THROW(read_address(bytes, {.zero_copy_from = 1}), Error);
  EXPECT_THROW(read_address(bytes, {.ring = 4096}), Error);
}

TEST(UcxAddress, RefusesEveryShorterText) {
  const std::vector<std::byte> bytes = write_address(example, {});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(read_address(std::span(bytes).first(size), {}), Error) << size;
}

TEST(UcxAddress, RefusesLengthsThatOverflow) {
  std::vector<std::byte> bytes = write_address(example, {});
  std::fill(bytes.end() - 136, bytes.end() - 120, std::byte{0xff});  // both lengths, before 120 bytes of text
  EXPECT_THROW(read_address(bytes, {}), Error);
}

}  // namespace
}  // namespace espalier::transports::ucx
