#include "trees/tree.hpp"

#include <algorithm>

namespace espalier::trees {

Branch derive_knomial(int position, int count, int radix) {
  Branch branch;
  // Weight of the position's lowest non-zero digit in base k; the root's lies beyond the highest digit.
  long long weight = 1;
  while (weight < count && (position / weight) % radix == 0) weight *= radix;
  if (position > 0) branch.parent = static_cast<int>(position - ((position / weight) % radix) * weight);
  branch.end = static_cast<int>(std::min<long long>(count, position == 0 ? count : position + weight));
  for (long long step = weight / radix; step > 0; step /= radix)
    for (int digit = 1; digit < radix; ++digit)
      if (position + digit * step < count) branch.children.push_back(static_cast<int>(position + digit * step));
  return branch;
}

Branch derive_chain(int position, int count) {
  Branch branch;
  branch.parent = position - 1;
  branch.end = count;
  if (position + 1 < count) branch.children.push_back(position + 1);
  return branch;
}

Branch derive_binary(int position, int count) {
  Branch branch;
  branch.end = count;
  // Walks down from the root to the position; `at` is the vertex whose subtree ends at branch.end.
  for (int at = 0;;) {
    const int left = at + 1, right = left + (branch.end - at) / 2;
    if (at == position) {
      if (left < branch.end) branch.children.push_back(left);
      if (right < branch.end) branch.children.push_back(right);
      return branch;
    }
    branch.parent = at;
    at = position < right ? left : right;
    if (at == left) branch.end = std::min(branch.end, right);
  }
}

Branch derive_flat(int position, int count) {
  if (position > 0) return {0, {}, position + 1};
  Branch branch;
  branch.end = count;
  for (int child = 1; child < count; ++child) branch.children.push_back(child);
  return branch;
}

}  // namespace espalier::trees
