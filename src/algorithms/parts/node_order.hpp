#pragma once
// Which node sits at which position of the tree or ring between nodes that a choice asks for.

#include "plan/choice.hpp"
#include "topology/topology.hpp"
#include "trees/order.hpp"

namespace espalier::algorithms {

/// The tree or ring between nodes of a choice, and what travels on it. Sizes count to the next of eight
/// between two powers of two, so that one order serves all up to it. An exchange that is neither tree nor ring is
/// `flat`: no order of nodes is better.
trees::Layout derive_layout(const topology::Topology& topology, const plan::Problem& problem,
                            const plan::Choice& choice);

/// The order as the choice wants it, with its price. Pure.
trees::Order derive_node_order(const topology::Topology& topology, const plan::Problem& problem,
                               const plan::Choice& choice);

/// Doubling that meets its far partners first, by choice and not because of what is known (groups/far_first.hpp).
constexpr bool goes_far_first(const plan::Choice& choice) {
  return choice.between == plan::Between::recursive_doubling && choice.order == plan::Order::depth;
}
/// Then what comes is in many runs. Under single copy each would be a call of the system for every neighbour: the
/// leader puts its own result in order meanwhile, and in the end neighbours copy all of that at once.
constexpr bool is_spread_at_end(const plan::Choice& choice) {
  return goes_far_first(choice) && choice.within == plan::Within::single_copy;
}

/// `derive_node_order` for building programs: derived once per topology. The topology must outlive it.
class NodeOrder {
 public:
  NodeOrder(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

  const trees::Layout& layout() const { return layout_; }
  /// Positions are the nodes from the root's on, around the last one.
  bool is_natural() const { return order_ == nullptr; }
  int node_at(int position) const {
    return order_ ? (*order_)[static_cast<std::size_t>(position)] : (layout_.root + position) % nodes_;
  }
  /// O(1) in the natural order, else O(nodes).
  int position_of(int node) const;

 private:
  trees::Layout layout_;
  int nodes_;
  topology::OrderMemo::Order order_;  ///< null: natural
};

}  // namespace espalier::algorithms
