#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <vector>

#include "algorithms/parts/node_order.hpp"
#include "bindings/bindings.hpp"
#include "trees/reach.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using topology::Topology;

namespace {

/// A choice's tree or ring as it lies on the network.
struct LaidTree {
  trees::Layout layout;
  trees::Order order;
  double natural_reach = 0;
  std::vector<int> parents;  ///< by position; -1 at the root
};

LaidTree lay_tree(const Topology& topology, std::string_view operation, Bytes bytes, int root,
                  const plan::Choice& choice) {
  const plan::Operation op = plan::parse_operation(operation);
  const plan::Problem problem{op, bytes, Rank(has_root(op) ? root : 0)};
  LaidTree laid{algorithms::derive_layout(topology, problem, choice),
                algorithms::derive_node_order(topology, problem, choice),
                0,
                {}};
  plan::Choice natural = choice;
  natural.order = plan::Order::natural;
  laid.natural_reach = algorithms::derive_node_order(topology, problem, natural).reach;
  for (const trees::Branch& branch : trees::derive_branches(laid.layout, topology.nodes()))
    laid.parents.push_back(branch.parent);
  return laid;
}

std::string_view name_of(trees::Shape shape) {
  static constexpr std::array<std::string_view, 6> names = {"knomial", "binary", "flat",
                                                            "chain",   "ring",   "scatter_ring"};
  return names.at(static_cast<std::size_t>(shape));
}

std::string_view name_of(trees::Traversal traversal) {
  static constexpr std::array<std::string_view, 5> names = {"natural", "breadth", "depth", "bine", "auto"};
  return names.at(static_cast<std::size_t>(traversal));
}

}  // namespace

void bind_trees(nb::module_& module) {
  nb::class_<LaidTree>(module, "LaidTree", "A choice's tree or ring between nodes as it lies on the network.")
      .def_prop_ro(
          "shape", [](const LaidTree& it) { return name_of(it.layout.shape); },
          "knomial, chain, ring, scatter_ring …; flat where no order of nodes is better than another.")
      .def_prop_ro(
          "traversal", [](const LaidTree& it) { return name_of(it.order.traversal); },
          "natural, breadth, depth or bine; auto where nodes have changed places since.")
      .def_prop_ro(
          "node_at", [](const LaidTree& it) { return it.order.node_at; },
          "The node at each position; the root's first.")
      .def_ro("parents", &LaidTree::parents, "The position above each position; -1 at the root.")
      .def_prop_ro(
          "reach", [](const LaidTree& it) { return it.order.reach; },
          "Estimated microseconds until the last node has everything.")
      .def_ro("natural_reach", &LaidTree::natural_reach, "The same, with nodes in the order of their numbers.");
  module.def("lay_tree", &lay_tree, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"),
             nb::arg("choice"), "Where the choice's tree or ring would lie.");
}

}  // namespace espalier::bindings
