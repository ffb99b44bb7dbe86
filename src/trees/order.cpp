#include "trees/order.hpp"

#include <utility>

#include "trees/bine.hpp"
#include "trees/greedy.hpp"
#include "trees/path.hpp"
#include "trees/reach.hpp"

namespace espalier::trees {

using topology::Distances;

namespace {

/// Up to so many nodes every pair may try to change places; what more nodes would gain is not worth the milliseconds.
constexpr int few_nodes = 16;
/// Rounds of such tries; the first two bring nearly everything.
constexpr int most_rounds = 8;

/// Both traversals of these are the short path.
bool is_path(const Layout& layout) { return layout.shape == Shape::chain || layout.shape == Shape::ring; }

Order derive(const Distances& distances, const Layout& layout, const Reach& reach, int count, Traversal traversal) {
  Order order{{}, traversal, 0};
  if (traversal == Traversal::natural)
    order.node_at = derive_natural_order(layout.root, count);
  else if (traversal == Traversal::bine)
    order.node_at = derive_bine_order(layout, count);
  else if (is_path(layout))
    order.node_at = derive_path_order(distances, layout);
  else if (traversal == Traversal::breadth)
    order.node_at = derive_breadth_order(distances, layout);
  else
    order.node_at = derive_depth_order(distances, layout);
  order.reach = reach.of(order.node_at).last + reach.packing(order.node_at);
  return order;
}

/// Lets two positions' nodes change places wherever that makes the whole quicker, until nothing helps. The root stays.
void improve(const Distances& distances, const Reach& reach, Order& order) {
  const std::vector<int> before = order.node_at;
  Reach::Price best = reach.of(order.node_at);
  bool has_improved = true;
  for (int round = 0; has_improved && round < most_rounds; ++round) {
    has_improved = false;
    for (std::size_t a = 1; a < order.node_at.size(); ++a)
      for (std::size_t b = a + 1; b < order.node_at.size(); ++b) {
        if (distances.class_of(NodeId(order.node_at[a])) == distances.class_of(NodeId(order.node_at[b]))) continue;
        std::swap(order.node_at[a], order.node_at[b]);
        const Reach::Price after = reach.of(order.node_at);
        if (after < best) {
          best = after;
          has_improved = true;
        } else {
          std::swap(order.node_at[a], order.node_at[b]);
        }
      }
  }
  if (const double after = best.last + reach.packing(order.node_at); after < order.reach) {
    order.traversal = Traversal::best;
    order.reach = after;
  } else {
    order.node_at = before;
  }
}

}  // namespace

Order derive_order(const Distances& distances, const Layout& layout, int count, Traversal wanted) {
  const Reach reach(distances, layout, count);
  if (wanted == Traversal::bine) return derive(distances, layout, reach, count, wanted);
  const bool is_free = !distances.is_neutral() && count > 2 && layout.shape != Shape::flat;
  if (!is_free) return derive(distances, layout, reach, count, Traversal::natural);
  if (wanted != Traversal::best) return derive(distances, layout, reach, count, wanted);
  const Order natural = derive(distances, layout, reach, count, Traversal::natural);
  Order best = natural;
  for (const Traversal traversal : {Traversal::natural, Traversal::breadth, Traversal::depth}) {
    Order other = derive(distances, layout, reach, count, traversal);
    if (count <= few_nodes) improve(distances, reach, other);
    if (other.reach < best.reach) best = std::move(other);
  }
  return best;
}

}  // namespace espalier::trees
