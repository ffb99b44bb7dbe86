#include "algorithms/parts/node_tree.hpp"

#include <limits>

namespace espalier::algorithms {

NodeTree::NodeTree(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                   NodeId node)
    : topology_(topology),
      speakers_(topology, problem, choice.leaders),
      goes_up_(problem.operation == plan::Operation::gather || problem.operation == plan::Operation::reduce),
      order_(topology, problem, choice),
      segment_(choice.segment),
      position_(order_.position_of(node.value)),
      branch_(derive(position_)) {}

Rank NodeTree::speaker_at(int position) const {
  const bool relays = goes_up_ && !(position == position_ ? branch_ : derive(position)).children.empty();
  return speakers_.of(NodeId(node_at(position)), relays);
}

Bytes NodeTree::most_under_way() const {
  const int below = branch_.end - position_ - 1;
  const bool does_child_hand_on = below > static_cast<int>(branch_.children.size());
  return does_child_hand_on ? trees::most_to_children : std::numeric_limits<Bytes>::max();
}

Bytes NodeTree::bytes(const smp::NodeMajor& order, int first, int last) const {
  Bytes sum = 0;
  for_each_stretch(first, last, [&](const Stretch& nodes) { sum += bytes_of(nodes, order); });
  return sum;
}

}  // namespace espalier::algorithms
