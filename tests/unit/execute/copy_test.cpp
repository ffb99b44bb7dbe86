#include "execute/copy.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace espalier::execute
