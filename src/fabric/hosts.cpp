// The second half of settling a draft: what belongs together.

#include <algorithm>
#include <map>

#include "fabric/draft.hpp"

namespace espalier::fabric {

// Parts are numbered by descending size, so that the main network is part 0 whatever the order of the dump; equal ones
// by their lowest GUID.
void Draft::number_parts() {
  struct Part {
    std::size_t ends = 0;
    Guid lowest{~std::uint64_t{0}};
    std::vector<NodeIndex> members;
  };
  std::vector<Part> parts;
  std::vector<char> seen(fabric_.nodes.size(), 0);
  std::vector<std::vector<NodeIndex>> into(fabric_.nodes.size());
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i)
    for (const auto& port : fabric_.nodes[i].ports)
      if (port.peer != kNoNode) into[static_cast<std::size_t>(port.peer)].push_back(static_cast<NodeIndex>(i));
  for (std::size_t start = 0; start < fabric_.nodes.size(); ++start) {
    if (seen[start]) continue;
    auto& part = parts.emplace_back();
    part.members.push_back(static_cast<NodeIndex>(start));
    seen[start] = 1;
    const auto visit = [&](NodeIndex next) {
      if (next == kNoNode || seen[static_cast<std::size_t>(next)]) return;
      seen[static_cast<std::size_t>(next)] = 1;
      part.members.push_back(next);
    };
    for (std::size_t i = 0; i < part.members.size(); ++i) {
      const auto& node = at(part.members[i]);
      part.ends += !node.is_switch();
      part.lowest = std::min(part.lowest, node.guid);
      for (const auto& port : node.ports) visit(port.peer);
      for (const auto from : into[static_cast<std::size_t>(part.members[i])]) visit(from);
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.ends != b.ends ? a.ends > b.ends : a.lowest < b.lowest; });
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const auto member : parts[i].members) at(member).part = static_cast<std::int32_t>(i);
  fabric_.parts = static_cast<int>(std::count_if(parts.begin(), parts.end(), [](const Part& p) { return p.ends > 0; }));
  if (parts.size() > 1)
    note(FindingKind::separate_parts, "not everything is connected: " + std::to_string(parts.size()) + " parts, " +
                                          std::to_string(fabric_.parts) + " of them with hosts");
}

void Draft::name_hosts() {
  std::map<std::string, Host> hosts;
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
    const auto& node = fabric_.nodes[i];
    if (node.kind != NodeKind::adapter) continue;
    const auto word = node.name.substr(0, node.name.find(' '));
    auto& host = hosts[word.empty() ? format_guid(node.guid) : word];
    for (PortNumber port = 1; port < node.ports.size(); ++port)
      if (fabric_.cable(static_cast<NodeIndex>(i), port) != nullptr)
        host.endpoints.push_back({static_cast<NodeIndex>(i), port});
  }
  for (auto& [name, host] : hosts) {
    if (host.endpoints.empty()) continue;
    std::sort(host.endpoints.begin(), host.endpoints.end(), [&](Endpoint a, Endpoint b) {
      return at(a.node).guid != at(b.node).guid ? at(a.node).guid < at(b.node).guid : a.port < b.port;
    });
    host.name = name;
    report_ambiguous(host);
    fabric_.host_by_name.emplace(name, static_cast<int>(fabric_.hosts.size()));
    fabric_.hosts.push_back(std::move(host));
  }
}

// Two adapters of one machine differ in their descriptions ("node-a mlx5_0", "node-a mlx5_1"); equal ones are two
// machines of one name.
void Draft::report_ambiguous(const Host& host) {
  std::map<std::pair<std::string, PortNumber>, int> adapters;
  for (const auto& endpoint : host.endpoints) ++adapters[{at(endpoint.node).name, endpoint.port}];
  for (const auto& [adapter, count] : adapters) {
    if (count < 2) continue;
    note(FindingKind::ambiguous_name, std::to_string(count) + " adapters call themselves '" + adapter.first + "'; " +
                                          format_guid(at(host.endpoints.front().node).guid) + " answers to '" +
                                          host.name + "', the others to their GUIDs");
    return;
  }
}

}  // namespace espalier::fabric
