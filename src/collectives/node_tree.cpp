#include "collectives/node_tree.hpp"

namespace espalier::collectives {

NodeTree::NodeTree(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                   NodeId node)
    : topology_(topology),
      root_(problem.root),
      between_(choice.between),
      radix_(choice.radix),
      first_(topology.node_of(problem.root).value),
      position_((node.value - first_ + topology.nodes()) % topology.nodes()),
      branch_(derive(position_)) {}

Rank NodeTree::speaker_at(int position) const {
  return position == 0 ? root_ : topology_.ranks_on(NodeId(node_at(position))).front();
}

Bytes NodeTree::bytes(const smp::NodeMajor& order, int first, int last) const {
  Bytes sum = 0;
  for_each_stretch(first, last, [&](const Stretch& nodes) { sum += bytes_of(nodes, order); });
  return sum;
}

trees::Branch NodeTree::derive(int position) const {
  switch (between_) {
    case plan::Between::chain: return trees::derive_chain(position, topology_.nodes());
    case plan::Between::flat: return trees::derive_flat(position, topology_.nodes());
    default: return trees::derive_knomial(position, topology_.nodes(), radix_);
  }
}

}  // namespace espalier::collectives
