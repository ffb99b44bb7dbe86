#pragma once
// A fabric: switches, adapters, their ports and cables, forwarding tables and hosts. A value: built once from dumps,
// then only read, so that one snapshot answers every question asked of it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric/dumps/fault.hpp"
#include "fabric/rate.hpp"

namespace espalier::fabric {

/// Who a node or a port is. Names are labels for people and not unique.
enum class Guid : std::uint64_t {};
/// "0x0002c90200400010".
std::string format_guid(Guid guid);

using Lid = std::uint16_t;
/// The largest LID that names one port; larger ones are multicast.
constexpr Lid kMaxUnicastLid = 0xBFFF;
/// Numbered from 1. InfiniBand ends at 254; a Slurm switch may have more children.
using PortNumber = std::uint16_t;
using NodeIndex = std::int32_t;
constexpr NodeIndex kNoNode = -1;

enum class NodeKind : std::uint8_t {
  switch_,
  adapter,      ///< an HCA
  aggregation,  ///< SHARP's engine inside a switch: looks like an adapter and is no host
  gateway,      ///< routers and gateways to other networks
};

struct Port {
  NodeIndex peer = kNoNode;  ///< who is at the other end, as this end sees it; kNoNode: nothing, or down
  PortNumber peer_port = 0;
  Lid lid = 0;           ///< of an adapter's port; 0: none. A switch has one LID, its node's.
  std::uint8_t lmc = 0;  ///< the port answers to 2^lmc LIDs from `lid` on
  Guid guid{};           ///< of an adapter's port; 0 when the dump does not say
  Rate rate;
};

struct Node {
  Guid guid{};
  NodeKind kind = NodeKind::switch_;
  std::string name;         ///< as the node describes itself; what is not printable ASCII stands as '?'
  Lid lid = 0;              ///< of a switch
  std::int32_t part = 0;    ///< which connected part of the fabric (rail) it is in, from 0
  std::vector<Port> ports;  ///< by port number; [0] is not used

  bool is_switch() const { return kind == NodeKind::switch_; }
};

/// Out port by destination LID; kNoEntry where there is none.
struct ForwardingTable {
  static constexpr std::uint8_t kNoEntry = 255;
  std::vector<std::uint8_t> out;
  int source = -1;  ///< index into Fabric::lid_owners; -1: no table at all

  bool exists() const { return source >= 0; }
  std::uint8_t entry(Lid lid) const { return lid < out.size() ? out[lid] : kNoEntry; }
};

/// One cabled adapter port: where a route begins and ends.
struct Endpoint {
  NodeIndex node = kNoNode;
  PortNumber port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// A machine, as far as the network shows it: all adapter ports whose descriptions begin with the same word. Where
/// whole descriptions are equal, the lowest GUID has the name; the others are hosts under their GUIDs ("0x…").
struct Host {
  std::string name;
  /// Ascending by (part, GUID, port), never empty. The first stands for the host: of several rails, the largest's.
  std::vector<Endpoint> endpoints;
};

/// What the routes of this fabric are known from.
enum class Basis : std::uint8_t {
  tables,    ///< the switches' forwarding tables: what the packets do
  shortest,  ///< no tables: one shortest path of the wiring
  tree,      ///< no wiring either: distance in a scheduler's tree
};
std::string_view name_of(Basis basis);

struct Fabric {
  std::vector<Node> nodes;
  std::vector<ForwardingTable> tables;  ///< by node; adapters have none
  /// By table source, then LID: the port GUID that the tables' own comments give it; 0 where they say nothing.
  std::vector<std::vector<Guid>> lid_owners;
  std::vector<Host> hosts;                            ///< ascending by name
  std::unordered_map<Guid, Endpoint> by_guid;         ///< nodes (port 0) and adapter ports
  std::unordered_map<std::string, int> host_by_name;  ///< and by names without a domain, where that is no other host
  std::unordered_map<NodeIndex, int> host_of;         ///< by adapter
  std::vector<Finding> findings;
  Basis basis = Basis::shortest;
  /// Some table belongs to a switch that the wiring does not have: a dead end is then the tables' fault.
  bool has_stale_tables = false;
  int parts = 0;  ///< number of connected parts that have hosts

  const Node& node(NodeIndex index) const { return nodes[static_cast<std::size_t>(index)]; }
  const ForwardingTable& table(NodeIndex index) const { return tables[static_cast<std::size_t>(index)]; }
  const Port& port(Endpoint at) const { return node(at.node).ports[at.port]; }
  /// What is cabled to a port; null when the node has no such port or nothing is there.
  const Port* cable(NodeIndex node, PortNumber port) const;

  /// The adapter port that `text` means: a host's name, "name/PORT" or "name/DEVICE" (the word after the name in the
  /// adapter's description, as in "node-a/mlx5_1"), or the GUID of an adapter or of one of its ports (0x…). A host with
  /// several ports answers with its first. Throws FabricError unknown_host.
  Endpoint find_endpoint(std::string_view text) const;
  /// As find_pair below, for two hosts.
  std::pair<Endpoint, Endpoint> find_pair(const Host& from, const Host& to) const;
  /// The endpoints at which `from` and `to` meet: the first pair of ports in one part of the fabric. The first of each
  /// when there is none. Rails are thereby never mixed. Throws FabricError unknown_host.
  std::pair<Endpoint, Endpoint> find_pair(std::string_view from, std::string_view to) const;
  /// "node000"; "node000/2" or "0x…/2" for a port that does not stand for its host.
  std::string label(Endpoint at) const;

 private:
  std::vector<Endpoint> candidates(std::string_view text) const;
  std::pair<Endpoint, Endpoint> meet(const std::vector<Endpoint>& from, const std::vector<Endpoint>& to) const;
  const Host* find_host(std::string_view name) const;
  Endpoint port_of(Endpoint at, std::string_view text) const;
};

}  // namespace espalier::fabric
