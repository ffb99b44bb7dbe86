#include "trees/reach.hpp"

#include <algorithm>
#include <vector>

namespace espalier::trees {

using topology::Distances;
using topology::Way;

namespace {

/// What starting a message costs its sender, µs (as cost::Parameters::overhead).
constexpr double overhead = 0.4;
/// What packing costs, µs per byte: a copy that does not stay in the second-level cache (cost::Parameters::caches).
constexpr double packing_per_byte = 1.0 / 11000;

NodeId node_at(std::span<const int> order, int position) { return NodeId(order[static_cast<std::size_t>(position)]); }

/// The best rate of each class, as µs per byte; 0 where none is known.
std::vector<double> derive_own_rates(const Distances& distances) {
  std::vector<double> own;
  for (int c = 0; c < distances.classes(); ++c) {
    double best = 0;
    for (int other = 0; other < distances.classes(); ++other) {
      const double known = distances.between_classes(c, other).per_byte;
      if (known > 0) best = best == 0 ? known : std::min(best, known);
    }
    own.push_back(best);
  }
  return own;
}

}  // namespace

Reach::Reach(const Distances& distances, const Layout& layout, int count)
    : distances_(distances), layout_(layout), segments_(1), own_per_byte_(derive_own_rates(distances)) {
  if (layout.segment > 0 && layout.bytes > layout.segment)
    segments_ = static_cast<double>((layout.bytes + layout.segment - 1) / layout.segment);
  const std::vector<Branch> branches = derive_branches(layout, count);
  for (int position = 0; position < count; ++position)
    for (const int child : branches[static_cast<std::size_t>(position)].children) {
      const Bytes bytes = edge_bytes(layout, child, branches[static_cast<std::size_t>(child)].end);
      edges_.push_back({position, child, static_cast<double>(bytes)});
    }
}

Reach::Price Reach::of(std::span<const int> order) const {
  if (distances_.classes() == 0 || order.size() < 2) return {};
  if (layout_.shape == Shape::ring) return {ring(order), 0};
  Price price = tree(order);
  if (layout_.shape == Shape::scatter_ring) price.last += ring(order);
  return price;
}

double Reach::own_link(int node, double bytes) const {
  return overhead + bytes * own_per_byte_[static_cast<std::size_t>(distances_.class_of(NodeId(node)))];
}

Reach::Price Reach::tree(std::span<const int> order) const {
  // By position: when it has the message, and when its link is free again. Edges come after the one to their parent.
  std::vector<double> free(order.size());
  Price price;
  double period = 0, busy = 0;
  int sender = -1;
  for (const Edge& edge : edges_) {
    const Way way = distances_.way(node_at(order, edge.parent), node_at(order, edge.child));
    double& leaves = free[static_cast<std::size_t>(edge.parent)];
    const double arrives = leaves + overhead + way.latency + edge.bytes * way.per_byte;
    const double own = own_link(node_at(order, edge.parent).value, edge.bytes);
    leaves += own;
    free[static_cast<std::size_t>(edge.child)] = arrives;
    price.last = std::max(price.last, arrives);
    price.sum += arrives;
    busy = edge.parent == sender ? busy + own : own;
    sender = edge.parent;
    period = std::max({period, busy, overhead + edge.bytes * way.per_byte});
  }
  price.last += (segments_ - 1) * period;
  return price;
}

double Reach::ring(std::span<const int> order) const {
  const int count = static_cast<int>(order.size());
  double latencies = 0, slowest = 0;
  for (int position = 0; position < count; ++position) {
    const Way way = distances_.way(node_at(order, position), node_at(order, (position + 1) % count));
    latencies += way.latency;
    slowest = std::max(slowest, overhead + static_cast<double>(layout_.bytes) * way.per_byte);
  }
  return latencies + (count - 1) * slowest;
}

double Reach::packing(std::span<const int> order) const {
  if (!layout_.is_split || distances_.classes() == 0) return 0;
  const auto count = static_cast<int>(order.size());
  for (int position = 0; position < count; ++position)
    if (order[static_cast<std::size_t>(position)] != (layout_.root + position) % count)
      return packing_per_byte * static_cast<double>(layout_.bytes) * (count - 1);
  return 0;
}

}  // namespace espalier::trees
