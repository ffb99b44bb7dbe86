#include "topology/topology.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "topology/network.hpp"
#include "topology/virtual_nodes.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using topology::Topology;

namespace {

template <class Of>
std::vector<int> for_each_rank(const Topology& topology, Of of) {
  std::vector<int> values;
  for (int r = 0; r < topology.ranks(); ++r) values.push_back(of(Rank(r)).value);
  return values;
}

/// µs per byte of each, where each route begins among those that are taken, and these.
using Cables = std::tuple<std::vector<float>, std::vector<int>, std::vector<int>>;

/// Each way as (latency in µs, µs per byte).
topology::Distances make_distances(const std::vector<int>& class_of, const std::vector<std::pair<float, float>>& ways,
                                   const std::vector<int>& leaf_of, const std::vector<float>& trunks,
                                   const Cables& cables) {
  std::vector<topology::Way> all;
  for (const auto& [latency, per_byte] : ways) all.push_back({latency, per_byte});
  return topology::Distances::from_classes(class_of, std::move(all))
      .with_trunks({leaf_of, trunks})
      .with_cables({std::get<0>(cables), std::get<1>(cables), std::get<2>(cables)});
}

int virtual_node_of(std::string_view spec, int index, int count) {
  if (index < 0 || index >= count)
    throw Error("index " + std::to_string(index) + " is not one of " + std::to_string(count));
  return topology::VirtualNodes::parse(spec).node_of(index, count);
}

}  // namespace

void bind_topology(nb::module_& module) {
  nb::class_<Topology>(module, "Topology", "Which rank sits on which node.")
      .def(
          "__init__",
          [](Topology* self, const std::vector<int>& node_of, bool single_copy, bool oversubscribed, Bytes window_bytes,
             const std::vector<machine::RankFacts>& facts, int turn, const std::vector<int>& class_of,
             const std::vector<std::pair<float, float>>& ways, const std::vector<int>& leaf_of,
             const std::vector<float>& trunks, const Cables& cables, bool slow_handover) {
            const auto handover = slow_handover ? machine::Handover::slow : machine::Handover::quick;
            const topology::Capabilities has{single_copy, oversubscribed, window_bytes, turn, handover};
            new (self) Topology(Topology::from_nodes(node_of, has, facts)
                                    .with_distances(make_distances(class_of, ways, leaf_of, trunks, cables)));
          },
          nb::arg("node_of"), nb::arg("single_copy") = false, nb::arg("oversubscribed") = false,
          nb::arg("window_bytes") = topology::Capabilities{}.window_bytes,
          nb::arg("facts") = std::vector<machine::RankFacts>(), nb::arg("turn") = 0,
          nb::arg("class_of") = std::vector<int>(), nb::arg("ways") = std::vector<std::pair<float, float>>(),
          nb::arg("leaf_of") = std::vector<int>(), nb::arg("trunks") = std::vector<float>(),
          nb::arg("cables") = Cables(), nb::arg("slow_handover") = false,
          "`node_of[r]` is any label of rank r's node; `facts[r]`, if anybody knows, where it sits there.\n\nWhat is "
          "known of the network: the class of each node, and a way (latency in µs, µs per byte) from each class to "
          "each, row by row; on the diagonal between two nodes of one class. And what nodes share: the leaf switch of "
          "each node, and of each leaf what its cables to others carry together (µs per byte; 0: not known). And the "
          "cables that routes take: of each its µs per byte; where each leaf's route to each node begins among those "
          "that are taken, and the end; and these.")
      .def_prop_ro("ranks", &Topology::ranks)
      .def_prop_ro("nodes", &Topology::nodes)
      .def_prop_ro("largest_node", &Topology::largest_node, "In ranks.")
      .def_prop_ro("is_blocked", &Topology::is_blocked, "Node-major order is rank order.")
      .def_prop_ro("single_copy", [](const Topology& t) { return t.capabilities().single_copy; })
      .def_prop_ro("oversubscribed", [](const Topology& t) { return t.capabilities().oversubscribed; })
      .def_prop_ro(
          "slow_handover", [](const Topology& t) { return t.capabilities().handover == machine::Handover::slow; },
          "Its nodes' cores read what another one has written out of that one's own cache: src/machine/handover.hpp.")
      .def_prop_ro("window_bytes", [](const Topology& t) { return t.capabilities().window_bytes; })
      .def_prop_ro(
          "node_of", [](const Topology& t) { return for_each_rank(t, [&](Rank r) { return t.node_of(r); }); },
          "By rank; nodes are numbered by first appearance.")
      .def_prop_ro("local_rank",
                   [](const Topology& t) { return for_each_rank(t, [&](Rank r) { return t.local_rank(r); }); });
  module.def(
      "derive_distances",
      [](const fabric::Fabric& fabric, const std::vector<std::string>& hosts) {
        std::vector<fabric::Endpoint> ends;
        for (const std::string& host : hosts) ends.push_back(fabric.find_endpoint(host));
        const topology::Distances found = topology::derive_distances(fabric, ends);
        std::vector<std::pair<float, float>> ways;
        for (const topology::Way& way : found.ways()) ways.emplace_back(way.latency, way.per_byte);
        const topology::Cables& cables = found.cables();
        return std::tuple(found.class_of(), ways, found.trunks().leaf_of, found.trunks().per_byte,
                          Cables(cables.per_byte, cables.begin, cables.taken));
      },
      nb::arg("fabric"), nb::arg("hosts"),
      "A Topology's `class_of`, `ways`, `leaf_of`, `trunks` and `cables`: what a job on these hosts knows that reads "
      "the "
      "fabric's dumps. Raises FabricError for an unknown host.");
  module.def("virtual_node_of", &virtual_node_of, nb::arg("spec"), nb::arg("index"), nb::arg("count"),
             "The node of process `index` of `count` when ESPALIER_VIRTUAL_NODES is `spec`: 4, or 3,1,4, or cyclic:4.");
}

}  // namespace espalier::bindings
