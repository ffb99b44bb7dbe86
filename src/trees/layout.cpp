#include "trees/layout.hpp"

#include <algorithm>

namespace espalier::trees {

Branch derive_branch(const Layout& layout, int position, int count) {
  switch (layout.shape) {
    case Shape::binary: return derive_binary(position, count);
    case Shape::flat: return derive_flat(position, count);
    case Shape::chain:
    case Shape::ring: return derive_chain(position, count);
    case Shape::knomial:
    case Shape::scatter_ring: break;
  }
  return derive_knomial(position, count, layout.radix);
}

std::vector<Branch> derive_branches(const Layout& layout, int count) {
  std::vector<Branch> branches;
  branches.reserve(static_cast<std::size_t>(count));
  for (int position = 0; position < count; ++position) branches.push_back(derive_branch(layout, position, count));
  return branches;
}

Bytes edge_bytes(const Layout& layout, int child, int end) {
  if (layout.is_split || layout.shape == Shape::scatter_ring) return layout.bytes * static_cast<Bytes>(end - child);
  return layout.segment == 0 ? layout.bytes : std::min(layout.segment, layout.bytes);
}

std::vector<int> derive_natural_order(int root, int count) {
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(count));
  for (int position = 0; position < count; ++position) order.push_back((root + position) % count);
  return order;
}

}  // namespace espalier::trees
