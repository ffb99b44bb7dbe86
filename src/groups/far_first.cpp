#include "groups/far_first.hpp"

#include <bit>

namespace espalier::groups {

int reverse_digits(int number, int digits) {
  int reversed = 0;
  for (int i = 0; i < digits; ++i) reversed |= (number >> i & 1) << (digits - 1 - i);
  return reversed;
}

std::vector<int> derive_far_first(int count) {
  const auto places = std::bit_ceil(static_cast<unsigned>(count));
  const int digits = std::bit_width(places) - 1;
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(count));
  for (int place = 0; place < static_cast<int>(places); ++place) {
    const int node = reverse_digits(place, digits);
    if (node < count) order.push_back(node);
  }
  return order;
}

}  // namespace espalier::groups
