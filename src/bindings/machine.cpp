#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "base/enumerators.hpp"
#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "leaders/direction.hpp"
#include "machine/devices.hpp"
#include "machine/handover.hpp"
#include "machine/mapping.hpp"
#include "machine/place.hpp"
#include "machine/readers.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using leaders::Call;
using machine::CpuSet;
using machine::Nic;
using machine::Node;
using machine::NumaNode;
using machine::RankFacts;

namespace {

std::vector<std::string> texts_of(const std::vector<CpuSet>& sets) {
  std::vector<std::string> texts;
  for (const CpuSet& set : sets) texts.push_back(set.text());
  return texts;
}

// -1 instead of the library's mark for "not known".
std::vector<int> distances_of(const RankFacts& facts) {
  std::vector<int> distances;
  for (int k = 0; k < facts.nics; ++k) {
    const int distance = facts.distance[static_cast<std::size_t>(k)];
    distances.push_back(distance == machine::unknown_distance ? -1 : distance);
  }
  return distances;
}

std::pair<std::vector<int>, std::string> nics_in_use(const Node& node, const std::string& setting) {
  const machine::NicsInUse use = machine::derive_nics_in_use(node, machine::probe_nic_hints(setting));
  return {use.nics, use.reason};
}

RankFacts rank_facts(const Node& node, const std::vector<int>& nics, std::string_view cpus) {
  for (const int nic : nics)
    if (nic < 0 || nic >= static_cast<int>(node.nics.size())) throw Error("there is no NIC " + std::to_string(nic));
  if (nics.size() > machine::most_nics) throw Error("at most 8 NICs take part");
  return machine::derive_rank_facts(node, {nics, ""}, CpuSet::parse(cpus));
}

std::string binding_of(const Node& node, std::string_view mapping, int index) {
  if (index < 0) throw Error("a rank's index cannot be negative");
  return machine::derive_binding(node, machine::parse_mapping(mapping), index).text();
}

Call call_of(const topology::Topology& topology, std::string_view operation, int root, std::string_view policy,
             int count, bool relays, bool hands_over) {
  if (root < 0 || root >= topology.ranks()) throw Error("there is no rank " + std::to_string(root));
  if (count < 1) throw Error("a node needs at least one leader");
  return {plan::parse_operation(operation), Rank(root), leaders::parse_policy(policy), count, relays, hands_over};
}

void bind_node(nb::module_& module) {
  nb::class_<NumaNode>(module, "NumaNode", "Memory with its processors, as a list such as 0-3,8.")
      .def_ro("os_index", &NumaNode::os_index)
      .def_prop_ro("cpus", [](const NumaNode& numa) { return numa.cpus.text(); });
  nb::class_<Nic>(module, "Nic", "One network device, whatever names it has.")
      .def_ro("names", &Nic::names)
      .def_prop_ro(
          "is_fabric", [](const Nic& nic) { return nic.kind == machine::NicKind::fabric; },
          "InfiniBand, RoCE, HSN; False: Ethernet and nothing else.")
      .def_ro("bus", &Nic::bus)
      .def_prop_ro(
          "near", [](const Nic& nic) { return nic.near.text(); },
          "The processors it hangs off; empty when that is not known.")
      .def_ro("mbits", &Nic::mbits, "0: not known.")
      .def_ro("is_active", &Nic::is_active);
  nb::class_<Node>(module, "MachineNode", "One node's facts: src/machine/node.hpp.")
      .def_ro("source", &Node::source)
      .def_prop_ro("cpus", [](const Node& node) { return node.cpus.text(); })
      .def_prop_ro("packages", [](const Node& node) { return texts_of(node.packages); })
      .def_ro("numa_nodes", &Node::numa_nodes)
      .def_ro("distances", &Node::distances, "In firmware's unit: 10 is local.")
      .def_prop_ro("l3_groups", [](const Node& node) { return texts_of(node.l3_groups); })
      .def_ro("nics", &Node::nics);
  nb::class_<RankFacts>(module, "RankFacts", "Where a rank sits on its node.")
      .def_ro("numa", &RankFacts::numa)
      .def_ro("l3", &RankFacts::l3)
      .def_prop_ro(
          "binding", [](const RankFacts& it) { return name_enumerator(it.binding); }, "unknown, unbound or bound.")
      .def_prop_ro("distances", &distances_of, "To each NIC in use; -1: not known.");
}

}  // namespace

void bind_machine(nb::module_& module) {
  bind_node(module);
  module.def("probe_node", &machine::probe_node, nb::arg("machine") = "",
             "This machine; or a snapshot, FILE.xml; or a description in hwloc's synthetic notation.");
  module.def(
      "probe_slow_handover", [] { return machine::probe_handover() == machine::Handover::slow; },
      "This machine's: Topology.slow_handover.");
  module.def("probe_hwloc", &machine::probe_hwloc, "This machine as hwloc sees it.");
  module.def(
      "probe_cpus", [] { return CpuSet::probe_binding().text(); }, "The processors that this process may run on.");
  module.def(
      "nics_in_use", &nics_in_use, nb::arg("node"), nb::arg("setting") = "",
      "Indexes into `node.nics`, and why these. `setting` as ESPALIER_NIC; the transports' variables count too.");
  module.def("rank_facts", &rank_facts, nb::arg("node"), nb::arg("nics"), nb::arg("cpus"),
             "Those of a process bound to `cpus`, with these NICs in use.");
  module.def("binding_of", &binding_of, nb::arg("node"), nb::arg("mapping"), nb::arg("index"),
             "The processors that rank `index` of a node is bound to under one of mappings().");
  module.def("uses_devices", &machine::uses_devices, nb::arg("path"),
             "Whether a program or library is a runtime of accelerators, by its name, or carries code for one.");
  module.def(
      "parse_cpus", [](std::string_view text) { return CpuSet::parse(text).list(); }, nb::arg("text"),
      "The processors of a list such as 0-3,8.");
}

void bind_leaders(nb::module_& module) {
  module.def(
      "leaders_of",
      [](const topology::Topology& topology, int node, std::string_view operation, int root, std::string_view policy,
         int count, bool relays, bool hands_over) {
        if (node < 0 || node >= topology.nodes()) throw Error("there is no node " + std::to_string(node));
        const auto elected = leaders::derive_leaders(
            topology, NodeId(node), call_of(topology, operation, root, policy, count, relays, hands_over));
        std::vector<std::pair<int, int>> list;
        for (const auto& leader : elected.leaders) list.emplace_back(leader.rank.value, leader.nic);
        return std::pair(list, elected.reason);
      },
      nb::arg("topology"), nb::arg("node"), nb::arg("operation"), nb::arg("root") = 0, nb::arg("policy") = "near",
      nb::arg("count") = 1, nb::arg("relays") = false, nb::arg("hands_over") = false,
      "(rank, index of its NIC) of each leader of a node, and the reason: src/leaders/direction.hpp.");
}

}  // namespace espalier::bindings
