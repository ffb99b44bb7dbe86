#include "trees/greedy.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace espalier::trees {

using topology::Distances;

FreeNodes::FreeNodes(const Distances& distances, const Layout& layout) : distances_(distances), root_(layout.root) {
  std::vector<double> members(static_cast<std::size_t>(distances.classes()));
  for (const int c : distances.class_of()) ++members[static_cast<std::size_t>(c)];
  for (int c = 0; c < distances.classes(); ++c) {
    double remoteness = 0;
    for (int other = 0; other < distances.classes(); ++other)
      remoteness += members[static_cast<std::size_t>(other)] * distances.between_classes(c, other).delay(layout.bytes);
    classes_.push_back({c, remoteness, {}, 0});
  }
  for (int place = distances.nodes() - 1; place > 0; --place) {
    const int node = (layout.root + place) % distances.nodes();
    Class& of_node = classes_[static_cast<std::size_t>(distances.class_of(NodeId(node)))];
    of_node.nodes.push_back(node);
    of_node.next_place = place;
  }
  std::erase_if(classes_, [](const Class& c) { return c.nodes.empty(); });
}

int FreeNodes::take_closest_to(int from, Bytes bytes) {
  const int from_class = distances_.class_of(NodeId(from));
  std::size_t best = 0;
  double best_delay = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const double delay = distances_.between_classes(from_class, classes_[i].number).delay(bytes);
    const bool is_closer = i == 0 || std::tie(delay, classes_[i].remoteness, classes_[i].next_place) <
                                         std::tie(best_delay, classes_[best].remoteness, classes_[best].next_place);
    if (!is_closer) continue;
    best = i;
    best_delay = delay;
  }
  Class& closest = classes_[best];
  const int node = closest.nodes.back();
  closest.nodes.pop_back();
  if (!closest.nodes.empty()) {
    closest.next_place = place_of(closest.nodes.back());
  } else {
    std::swap(closest, classes_.back());  // their sequence decides nothing
    classes_.pop_back();
  }
  return node;
}

namespace {

/// Fills the positions in the sequence in which they are given; parents come before their children.
class Filling {
 public:
  Filling(const Distances& distances, const Layout& layout)
      : layout_(layout), free_(distances, layout), order_(static_cast<std::size_t>(distances.nodes())) {
    order_[0] = layout.root;
  }

  void fill(int position, const Branch& branch) {
    if (branch.parent < 0) return;
    const int parent = order_[static_cast<std::size_t>(branch.parent)];
    order_[static_cast<std::size_t>(position)] =
        free_.take_closest_to(parent, edge_bytes(layout_, position, branch.end));
  }

  std::vector<int> take() { return std::move(order_); }

 private:
  const Layout& layout_;
  FreeNodes free_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int> derive_breadth_order(const Distances& distances, const Layout& layout) {
  const std::vector<Branch> branches = derive_branches(layout, distances.nodes());
  std::vector<int> sequence(branches.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  const auto weight = [&](int position) { return branches[static_cast<std::size_t>(position)].end - position; };
  std::stable_sort(sequence.begin(), sequence.end(), [&](int a, int b) { return weight(a) > weight(b); });
  Filling filling(distances, layout);
  for (const int position : sequence) filling.fill(position, branches[static_cast<std::size_t>(position)]);
  return filling.take();
}

std::vector<int> derive_depth_order(const Distances& distances, const Layout& layout) {
  const std::vector<Branch> branches = derive_branches(layout, distances.nodes());
  Filling filling(distances, layout);
  std::vector<int> stack = {0};
  while (!stack.empty()) {
    const int position = stack.back();
    stack.pop_back();
    const Branch& branch = branches[static_cast<std::size_t>(position)];
    filling.fill(position, branch);
    stack.insert(stack.end(), branch.children.rbegin(), branch.children.rend());  // the largest is filled first
  }
  return filling.take();
}

}  // namespace espalier::trees
