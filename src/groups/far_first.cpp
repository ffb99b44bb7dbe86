#include "groups/far_first.hpp"

#include <bit>

namespace espalier::groups {
namespace {

unsigned reversed(unsigned number, int digits) {
  unsigned result = 0;
  for (int i = 0; i < digits; ++i) result |= (number >> i & 1) << (digits - 1 - i);
  return result;
}

}  // namespace

std::vector<int> derive_far_first(int count) {
  const auto places = std::bit_ceil(static_cast<unsigned>(count));
  const int digits = std::bit_width(places) - 1;
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(count));
  for (unsigned place = 0; place < places; ++place) {
    const auto node = static_cast<int>(reversed(place, digits));
    if (node < count) order.push_back(node);
  }
  return order;
}

}  // namespace espalier::groups
