#include "fabric/graph.hpp"

#include <charconv>

namespace espalier::fabric {
namespace {

std::optional<Guid> parse_guid(std::string_view text) {
  if (!text.starts_with("0x") || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Guid{value};
}

std::string_view first_word(std::string_view name) { return name.substr(0, name.find(' ')); }

std::string_view second_word(std::string_view name) {
  const auto gap = name.find(' ');
  if (gap == std::string_view::npos) return {};
  name.remove_prefix(name.find_first_not_of(' ', gap) == std::string_view::npos ? name.size()
                                                                                : name.find_first_not_of(' ', gap));
  return first_word(name);
}

[[noreturn]] void fail_unknown(std::string_view text, const std::string& why) {
  throw FabricError(Fault::unknown_host, "'" + std::string(text) + "' " + why);
}

}  // namespace

std::string format_guid(Guid guid) {
  char digits[17] = {};
  const auto end = std::to_chars(digits, digits + 16, static_cast<std::uint64_t>(guid), 16).ptr;
  return "0x" + std::string(static_cast<std::size_t>(16 - (end - digits)), '0') + digits;
}

std::string_view name_of(Basis basis) {
  switch (basis) {
    case Basis::tables: return "tables";
    case Basis::shortest: return "shortest";
    case Basis::tree: return "tree";
  }
  return "";
}

const Port* Fabric::cable(NodeIndex index, PortNumber number) const {
  const auto& ports = node(index).ports;
  if (number >= ports.size() || ports[number].peer == kNoNode) return nullptr;
  return &ports[number];
}

std::vector<Endpoint> Fabric::candidates(std::string_view text) const {
  if (const auto guid = parse_guid(text))
    if (const auto found = by_guid.find(*guid); found != by_guid.end()) return {port_of(found->second, text)};
  // A name may contain anything, slashes too.
  if (const auto* host = find_host(text)) return host->endpoints;
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos) fail_unknown(text, "is no host and no GUID of this fabric");
  const auto* host = find_host(text.substr(0, slash));
  if (host == nullptr) fail_unknown(text, "is no host of this fabric");
  const auto wanted = text.substr(slash + 1);
  for (const auto& at : host->endpoints)
    if (wanted == std::to_string(at.port) || wanted == second_word(node(at.node).name)) return {at};
  fail_unknown(text, "names no cabled port or adapter of host '" + host->name + "'");
}

const Host* Fabric::find_host(std::string_view name) const {
  const auto found = host_by_name.find(std::string(name));
  return found == host_by_name.end() ? nullptr : &hosts[static_cast<std::size_t>(found->second)];
}

// The port that a GUID stands for: itself, or its adapter's first cabled one.
Endpoint Fabric::port_of(Endpoint at, std::string_view text) const {
  if (node(at.node).is_switch()) fail_unknown(text, "is a switch, not a host");
  if (at.port != 0 && cable(at.node, at.port) != nullptr) return at;
  for (PortNumber port = 1; at.port == 0 && port < node(at.node).ports.size(); ++port)
    if (cable(at.node, port) != nullptr) return {at.node, port};
  fail_unknown(text, "has no cabled port");
}

Endpoint Fabric::find_endpoint(std::string_view text) const { return candidates(text).front(); }

std::pair<Endpoint, Endpoint> Fabric::find_pair(std::string_view from, std::string_view to) const {
  const auto sources = candidates(from);  // first: of two unknown names it is the first that is complained about
  return meet(sources, candidates(to));
}

std::pair<Endpoint, Endpoint> Fabric::find_pair(const Host& from, const Host& to) const {
  return meet(from.endpoints, to.endpoints);
}

std::pair<Endpoint, Endpoint> Fabric::meet(const std::vector<Endpoint>& from, const std::vector<Endpoint>& to) const {
  for (const auto& source : from)
    for (const auto& target : to)
      if (node(source.node).part == node(target.node).part) return {source, target};
  return {from.front(), to.front()};
}

std::string Fabric::label(Endpoint at) const {
  const auto port = "/" + std::to_string(at.port);
  const auto found = host_of.find(at.node);
  if (found == host_of.end()) return format_guid(node(at.node).guid) + port;
  const auto& host = hosts[static_cast<std::size_t>(found->second)];
  if (host.endpoints.front() == at) return host.name;
  return (host.endpoints.front().node == at.node ? host.name : format_guid(node(at.node).guid)) + port;
}

}  // namespace espalier::fabric
