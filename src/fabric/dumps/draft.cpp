#include "fabric/dumps/draft.hpp"

#include <algorithm>

namespace espalier::fabric {
namespace {

// Enough of each kind to see what is wrong; a fabric of thousands of hosts can have thousands of each.
constexpr std::size_t kMostFindingsOfAKind = 100;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// SHARP engines and gateways show themselves as adapters; only their descriptions tell.
NodeKind refine(NodeKind kind, std::string_view name) {
  if (kind != NodeKind::adapter) return kind;
  if (contains(name, "Aggregation Node")) return NodeKind::aggregation;
  if (contains(name, "Gateway") || contains(name, "gateway")) return NodeKind::gateway;
  return kind;
}

}  // namespace

std::string clean_name(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  std::string name(text.substr(begin, kLongestName));
  for (auto& c : name)
    if (c < ' ' || c > '~') c = '?';
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

void Draft::note(FindingKind kind, std::string text) {
  auto& count = findings_of_[static_cast<int>(kind)];
  if (++count < kMostFindingsOfAKind) {
    fabric_.findings.push_back({kind, std::move(text)});
  } else if (count == kMostFindingsOfAKind) {
    fabric_.findings.push_back({kind, "and more of these"});
  }
}

NodeIndex Draft::find(Guid guid) const {
  const auto found = fabric_.by_guid.find(guid);
  return found == fabric_.by_guid.end() ? kNoNode : found->second.node;
}

NodeIndex Draft::node(Guid guid, NodeKind kind) {
  const auto index = static_cast<NodeIndex>(fabric_.nodes.size());
  const auto [entry, is_new] = fabric_.by_guid.try_emplace(guid, Endpoint{index, 0});
  if (!is_new) return entry->second.node;
  if (fabric_.nodes.size() >= kMostNodes) throw FabricError(Fault::too_large, "more than a million nodes");
  auto& added = fabric_.nodes.emplace_back();
  added.guid = guid;
  added.kind = kind;
  return index;
}

NodeIndex Draft::describe(Guid guid, NodeKind kind, std::string_view name, const Place& place) {
  const auto clean = clean_name(name);
  const auto [entry, is_new] = described_in_.try_emplace(guid, place.file);
  if (!is_new) {
    const auto& first = fabric_.nodes[static_cast<std::size_t>(find(guid))];
    if (entry->second == place.file || first.name != clean)
      note(FindingKind::duplicate_guid, place.file + ":" + std::to_string(place.line) + ": " + format_guid(guid) +
                                            " is described again as '" + clean + "'; '" + first.name + "' counts");
    return kNoNode;
  }
  const auto index = node(guid, kind);
  at(index).name = clean;
  at(index).kind = refine(kind, clean);
  return index;
}

Port& Draft::port(NodeIndex node, PortNumber number) {
  auto& ports = at(node).ports;
  if (ports.size() <= number) ports.resize(number + std::size_t{1});
  return ports[number];
}

void Draft::address(NodeIndex node, PortNumber number, Lid lid, Guid port_guid) {
  if (at(node).kind == NodeKind::switch_) {
    at(node).lid = lid;
    return;
  }
  Port& it = port(node, number);
  it.lid = lid;
  it.guid = port_guid;
}

int Draft::add_table_source() {
  fabric_.lid_owners.emplace_back();
  return static_cast<int>(fabric_.lid_owners.size()) - 1;
}

ForwardingTable& Draft::begin_table(Guid guid, int source) {
  table_of_ = guid;
  current_.out.clear();
  current_.source = source;
  return current_;
}

void Draft::end_table(std::int64_t promised, std::int64_t read, const Place& place) {
  const auto where = place.file + ":" + std::to_string(place.line) + ": the table of " + format_guid(table_of_);
  if (promised < 0) note(FindingKind::truncated_table, where + " has no last line");
  if (promised >= 0 && promised != read)
    note(FindingKind::truncated_table,
         where + " promises " + std::to_string(promised) + " entries and has " + std::to_string(read));
  const auto [entry, is_new] = tables_.try_emplace(table_of_, current_);
  if (!is_new && entry->second.out != current_.out)
    note(FindingKind::conflicting_table, where + " differs from an earlier one, which counts");
}

Fabric Draft::settle(Basis without_tables) && {
  add_undescribed();
  connect();
  if (links_.empty()) throw FabricError(Fault::empty, "no cable anywhere");
  fabric_.basis = tables_.empty() ? without_tables : Basis::tables;
  number_parts();
  name_hosts();
  adopt_tables();
  check_lids();
  return std::move(fabric_);
}

// A neighbour that describes nothing itself was cut off, unless it is an aggregation node, which some tools leave out.
void Draft::add_undescribed() {
  std::size_t missing = 0;
  Guid example{};
  for (const auto& [guid, mention] : mentioned_) {
    if (find(guid) != kNoNode) continue;
    const auto kind = refine(mention.kind, mention.name);
    if (kind == NodeKind::aggregation) {
      at(node(guid, kind)).name = mention.name;
      note(FindingKind::undescribed_node,
           format_guid(guid) + " ('" + mention.name + "') is known from its neighbour only");
      continue;
    }
    if (missing++ == 0) example = guid;
  }
  if (missing > 0)
    throw FabricError(Fault::truncated, std::to_string(missing) + " nodes are cabled but not described, " +
                                            format_guid(example) + " among them");
}

void Draft::connect() {
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
    const auto& node = fabric_.nodes[i];
    if (node.is_switch()) continue;
    for (PortNumber number = 1; number < node.ports.size(); ++number)
      if (const auto guid = node.ports[number].guid; guid != Guid{})
        fabric_.by_guid.try_emplace(guid, Endpoint{static_cast<NodeIndex>(i), number});
  }
  for (const auto& link : links_) {
    auto& mine = port(link.from, link.port);
    mine.rate = link.rate;
    mine.peer = link.peer == Guid{} ? kNoNode : find(link.peer);
    mine.peer_port = link.peer_port;
    const auto where = [&] { return format_guid(at(link.from).guid) + " port " + std::to_string(link.port); };
    if (link.rate.lanes != 0 && link.rate.lane_gbps == 0)
      note(FindingKind::unknown_speed, where() + ": '" + link.rate.text() + "' is of no known rate");
    // Aggregation nodes that say nothing of themselves are there by now: this dump has been cut.
    if (mine.peer == kNoNode) note(FindingKind::asymmetric_link, where() + " leads to a node that is not described");
  }
  report_asymmetry();
}

void Draft::report_asymmetry() {
  for (const auto& node : fabric_.nodes) {
    for (PortNumber number = 1; number < node.ports.size(); ++number) {
      const auto& mine = node.ports[number];
      if (mine.peer == kNoNode) continue;
      const auto& peer = at(mine.peer);
      // An aggregation node that its neighbour alone knows has no side of its own to disagree with.
      if (peer.ports.empty() && peer.kind == NodeKind::aggregation) continue;
      const auto* back = fabric_.cable(mine.peer, mine.peer_port);
      if (back != nullptr && at(back->peer).guid == node.guid && back->peer_port == number) continue;
      note(FindingKind::asymmetric_link, format_guid(node.guid) + " port " + std::to_string(number) +
                                             " says it leads to " + format_guid(peer.guid) + " port " +
                                             std::to_string(mine.peer_port) + "; that end says otherwise, or nothing");
    }
  }
}

void Draft::adopt_tables() {
  fabric_.tables.resize(fabric_.nodes.size());
  std::vector<Guid> strangers;
  for (auto& [guid, table] : tables_) {
    const auto index = find(guid);
    if (index != kNoNode && at(index).is_switch()) {
      fabric_.tables[static_cast<std::size_t>(index)] = std::move(table);
    } else {
      strangers.push_back(guid);
    }
  }
  std::sort(strangers.begin(), strangers.end());
  for (const auto guid : strangers)
    note(FindingKind::stale_table, "there is a table of " + format_guid(guid) + ", which is no switch of this wiring");
  fabric_.has_stale_tables = !strangers.empty();
  if (fabric_.basis != Basis::tables) return;
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i)
    if (fabric_.nodes[i].is_switch() && !fabric_.tables[i].exists())
      note(FindingKind::missing_table,
           format_guid(fabric_.nodes[i].guid) + " ('" + fabric_.nodes[i].name + "') has no table");
}

namespace {

// Every LID names one port of its part; and it is the port that the tables' comments mean.
class LidCheck {
 public:
  LidCheck(const Fabric& fabric, Draft& draft) : fabric_(fabric), draft_(draft), source_(fabric.nodes.size(), -1) {
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i)
      if (fabric.tables[i].exists()) source_[static_cast<std::size_t>(fabric.nodes[i].part)] = fabric.tables[i].source;
  }

  void check(const Node& node, Guid guid, Lid lid) {
    if (lid == 0) return;
    const auto key = (static_cast<std::uint64_t>(node.part) << 16) | lid;
    const auto [entry, is_new] = owner_.try_emplace(key, guid);
    if (!is_new && entry->second != guid)
      draft_.note(FindingKind::duplicate_lid, "LID " + std::to_string(lid) + " belongs to " +
                                                  format_guid(entry->second) + " and to " + format_guid(guid));
    const auto meant = owner_in_tables(node, lid);
    if (guid != Guid{} && meant != Guid{} && meant != guid)
      draft_.note(FindingKind::stale_table, "the tables take LID " + std::to_string(lid) + " for " +
                                                format_guid(meant) + "; it is " + format_guid(guid));
  }

 private:
  Guid owner_in_tables(const Node& node, Lid lid) const {
    const int source = source_[static_cast<std::size_t>(node.part)];
    if (source < 0) return {};
    const auto& owners = fabric_.lid_owners[static_cast<std::size_t>(source)];
    return lid < owners.size() ? owners[lid] : Guid{};
  }

  const Fabric& fabric_;
  Draft& draft_;
  std::vector<int> source_;  // by part: where its tables come from
  std::unordered_map<std::uint64_t, Guid> owner_;
};

}  // namespace

void Draft::check_lids() {
  LidCheck lids(fabric_, *this);
  for (const auto& node : fabric_.nodes) {
    if (node.is_switch()) lids.check(node, node.guid, node.lid);
    for (const auto& port : node.ports) lids.check(node, port.guid, port.lid);
  }
}

}  // namespace espalier::fabric
