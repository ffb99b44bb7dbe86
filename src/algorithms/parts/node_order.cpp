#include "algorithms/parts/node_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "algorithms/catalogue.hpp"
#include "algorithms/words.hpp"
#include "groups/rounds.hpp"
#include "plan/blocks.hpp"

namespace espalier::algorithms {

using topology::Topology;
using trees::Layout;
using trees::Shape;
using trees::Traversal;

namespace {

/// What all nodes together get or bring, where everyone has a part of its own.
Bytes total_of(const Topology& topology, const Problem& problem, const Choice& choice) {
  if (problem.operation == Operation::broadcast) return problem.bytes;
  if (!is_reduction(problem.operation)) return plan::Blocks(problem, topology.ranks()).total();
  return choice.segment == 0 ? problem.bytes : std::min(choice.segment, problem.bytes);
}

Traversal traversal_of(plan::Order order) {
  switch (order) {
    case plan::Order::natural: return Traversal::natural;
    case plan::Order::breadth: return Traversal::breadth;
    case plan::Order::depth: return Traversal::depth;
    case plan::Order::bine: return Traversal::bine;
    case plan::Order::auto_: return Traversal::best;
  }
  return Traversal::best;
}

/// To the next of eight sizes between two powers of two.
Bytes round_up(Bytes bytes) {
  const Bytes grain = std::max<Bytes>(std::bit_floor(std::max<Bytes>(bytes, 1)) / 8, 1);
  return (bytes + grain - 1) / grain * grain;
}

topology::OrderMemo::Key key_of(const Layout& layout, plan::Order wanted) {
  const auto bits = [](auto value, int shift) { return static_cast<std::uint64_t>(value) << shift; };
  return {bits(layout.root, 32) | bits(layout.radix, 16) | bits(layout.shape, 8) | bits(wanted, 4) |
              bits(layout.goes_both_ways, 2) | bits(layout.goes_up, 1) | layout.is_split,
          layout.bytes, layout.segment};
}

}  // namespace

Layout derive_layout(const Topology& topology, const Problem& problem, const Choice& choice) {
  Layout layout{find_algorithm(problem.operation, choice.between).shape, choice.radix};
  layout.is_split = problem.operation == Operation::scatter || problem.operation == Operation::gather;
  layout.goes_up = problem.operation == Operation::gather || problem.operation == Operation::reduce;
  if (layout.shape != Shape::ring) layout.root = topology.node_of(problem.root).value;
  layout.goes_both_ways = problem.operation == Operation::allgather && layout.shape == Shape::ring &&
                          topology.nodes() >= groups::two_way_nodes;
  const bool is_parted = layout.is_split || layout.shape == Shape::ring || layout.shape == Shape::scatter_ring;
  constexpr Bytes most = Bytes{1} << 62;  // what has no next power of two is refused elsewhere
  const Bytes part = total_of(topology, problem, choice) / static_cast<Bytes>(topology.nodes());
  layout.bytes = round_up(std::min(is_parted ? part : problem.bytes, most));
  if (!is_parted) layout.segment = choice.segment;
  return layout;
}

trees::Order derive_node_order(const Topology& topology, const Problem& problem, const Choice& choice) {
  return trees::derive_order(topology.distances(), derive_layout(topology, problem, choice), topology.nodes(),
                             traversal_of(choice.order));
}

NodeOrder::NodeOrder(const Topology& topology, const Problem& problem, const Choice& choice)
    : layout_(derive_layout(topology, problem, choice)), nodes_(topology.nodes()) {
  const bool follows_network = choice.order != plan::Order::natural && choice.order != plan::Order::bine;
  if (choice.order == plan::Order::natural || (follows_network && topology.distances().is_neutral())) return;
  order_ = topology.order_memo().get(key_of(layout_, choice.order), [&] {
    trees::Order order = derive_node_order(topology, problem, choice);
    return order.traversal == Traversal::natural ? std::vector<int>{} : std::move(order.node_at);
  });
  if (order_->empty()) order_ = nullptr;
}

int NodeOrder::position_of(int node) const {
  if (is_natural()) return (node - layout_.root + nodes_) % nodes_;
  return static_cast<int>(std::find(order_->begin(), order_->end(), node) - order_->begin());
}

}  // namespace espalier::algorithms
