// The second half of settling a draft: what belongs together.

#include <algorithm>
#include <map>

#include "fabric/dumps/draft.hpp"

namespace espalier::fabric {

namespace {

struct Part {
  std::size_t ends = 0;
  Guid lowest{~std::uint64_t{0}};
  std::vector<NodeIndex> members;
};

// Connected parts of the wiring. A cable connects even when only one end knows of it.
class Parts {
 public:
  explicit Parts(const std::vector<Node>& nodes) : nodes_(nodes), into_(nodes.size()), seen_(nodes.size(), 0) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const auto& port : nodes[i].ports)
        if (port.peer != kNoNode) into_[static_cast<std::size_t>(port.peer)].push_back(static_cast<NodeIndex>(i));
  }

  std::vector<Part> find() {
    std::vector<Part> parts;
    for (std::size_t start = 0; start < nodes_.size(); ++start)
      if (!seen_[start]) collect(static_cast<NodeIndex>(start), parts.emplace_back());
    return parts;
  }

 private:
  void collect(NodeIndex start, Part& part) {
    visit(start, part);
    for (std::size_t i = 0; i < part.members.size(); ++i) {
      const auto member = static_cast<std::size_t>(part.members[i]);
      part.ends += !nodes_[member].is_switch();
      part.lowest = std::min(part.lowest, nodes_[member].guid);
      for (const auto& port : nodes_[member].ports) visit(port.peer, part);
      for (const auto from : into_[member]) visit(from, part);
    }
  }

  void visit(NodeIndex node, Part& part) {
    if (node == kNoNode || seen_[static_cast<std::size_t>(node)]) return;
    seen_[static_cast<std::size_t>(node)] = 1;
    part.members.push_back(node);
  }

  const std::vector<Node>& nodes_;
  std::vector<std::vector<NodeIndex>> into_;
  std::vector<char> seen_;
};

}  // namespace

// Parts are numbered by descending size, so that the main network is part 0 whatever the order of the dump; equal ones
// by their lowest GUID.
void Draft::number_parts() {
  auto parts = Parts(fabric_.nodes).find();
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.ends != b.ends ? a.ends > b.ends : a.lowest < b.lowest; });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const auto member : parts[i].members) at(member).part = static_cast<std::int32_t>(i);
    fabric_.parts += parts[i].ends > 0;
  }
  if (parts.size() > 1)
    note(FindingKind::separate_parts, "not everything is connected: " + std::to_string(parts.size()) + " parts, " +
                                          std::to_string(fabric_.parts) + " of them with hosts");
}

// The word that a description begins with is the host's name, and adapters with different descriptions of one such word
// ("node-a mlx5_0", "node-a mlx5_1") are in one machine. Equal descriptions are those of two machines of one name, or
// of adapters that nobody named: the lowest GUID keeps the name, the others are hosts under their GUIDs.
void Draft::name_hosts() {
  std::vector<NodeIndex> adapters;
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i)
    if (fabric_.nodes[i].kind == NodeKind::adapter) adapters.push_back(static_cast<NodeIndex>(i));
  std::sort(adapters.begin(), adapters.end(), [&](NodeIndex a, NodeIndex b) { return at(a).guid < at(b).guid; });

  std::map<std::string, Host> hosts;
  std::map<std::pair<std::string, PortNumber>, std::vector<Guid>> same;
  for (const auto index : adapters) {
    const auto& node = at(index);
    for (PortNumber port = 1; port < node.ports.size(); ++port) {
      if (fabric_.cable(index, port) == nullptr) continue;
      auto& bearers = same[{node.name, port}];
      bearers.push_back(node.guid);
      const auto word = node.name.substr(0, node.name.find(' '));
      const auto name = word.empty() || bearers.size() > 1 ? format_guid(node.guid) : word;
      hosts[name].endpoints.push_back({index, port});
    }
  }
  report_ambiguous(same);
  for (auto& [name, host] : hosts) {
    host.name = name;
    std::stable_sort(host.endpoints.begin(), host.endpoints.end(),
                     [&](Endpoint a, Endpoint b) { return at(a.node).part < at(b.node).part; });
    for (const auto& end : host.endpoints) fabric_.host_of.emplace(end.node, static_cast<int>(fabric_.hosts.size()));
    fabric_.host_by_name.emplace(name, static_cast<int>(fabric_.hosts.size()));
    fabric_.hosts.push_back(std::move(host));
  }
  name_without_domain();
}

// "c000-000.cluster" is "c000-000", too, as pictures and batch systems call it: where that is nobody else, and no
// number, as the first part of an address is.
void Draft::name_without_domain() {
  std::map<std::string, std::vector<int>> meant;
  for (std::size_t i = 0; i < fabric_.hosts.size(); ++i) {
    const std::string& name = fabric_.hosts[i].name;
    const std::string first = name.substr(0, name.find('.'));
    if (first.size() < name.size() && first.find_first_not_of("0123456789") != std::string::npos)
      meant[first].push_back(static_cast<int>(i));
  }
  for (const auto& [name, bearers] : meant)
    if (bearers.size() == 1) fabric_.host_by_name.emplace(name, bearers.front());
}

void Draft::report_ambiguous(const std::map<std::pair<std::string, PortNumber>, std::vector<Guid>>& same) {
  for (const auto& [adapter, bearers] : same) {
    if (bearers.size() < 2) continue;
    note(FindingKind::ambiguous_name, std::to_string(bearers.size()) + " adapters call themselves '" + adapter.first +
                                          "'; " + format_guid(bearers.front()) +
                                          " answers to the name, the others to their GUIDs");
  }
}

}  // namespace espalier::fabric
