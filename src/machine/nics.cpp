#include "machine/nics.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace espalier::machine {
namespace {

// UCX (MPICH and Open MPI on InfiniBand), libfabric's providers (Intel MPI, MPICH), Open MPI's own TCP. Intel MPI has
// no variable of its own that names a device.
constexpr const char* transport_variables[] = {"UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "FI_VERBS_IFACE",
                                               "FI_TCP_IFACE",    "FI_SOCKETS_IFACE",   "OMPI_MCA_btl_tcp_if_include"};

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

bool is_named(const Nic& nic, std::string_view list) {
  for (const std::string_view word : split(list)) {
    const std::string_view name = word.substr(0, word.find(':'));
    if (std::find(nic.names.begin(), nic.names.end(), name) != nic.names.end()) return true;
  }
  return false;
}

std::vector<int> follow(const Node& node, std::string_view value) {
  const bool excludes = value.starts_with('^');
  if (excludes) value.remove_prefix(1);
  std::vector<int> named, others;
  for (std::size_t i = 0; i < node.nics.size(); ++i)
    (is_named(node.nics[i], value) ? named : others).push_back(static_cast<int>(i));
  if (!excludes) return named;
  return named.empty() ? std::vector<int>() : others;
}

// Leaves the best of `candidates`: up, fabric before Ethernet, the fastest.
void keep_fastest(const Node& node, std::vector<int>& candidates) {
  const auto nic = [&](int i) -> const Nic& { return node.nics[static_cast<std::size_t>(i)]; };
  std::erase_if(candidates, [&](int i) { return !nic(i).is_active; });
  const auto is_worse = [&](int a, int b) {
    return std::pair(nic(a).kind, nic(a).mbits) < std::pair(nic(b).kind, nic(b).mbits);
  };
  const auto best = std::max_element(candidates.begin(), candidates.end(), is_worse);
  if (best == candidates.end()) return;
  const int fastest = *best;
  std::erase_if(candidates, [&](int i) { return is_worse(i, fastest); });
}

std::string names_of(const Node& node, const std::vector<int>& nics) {
  std::string text;
  for (const int i : nics) text += (text.empty() ? "" : ", ") + node.nics[static_cast<std::size_t>(i)].names.front();
  return text;
}

}  // namespace

std::vector<NicHint> probe_nic_hints(const std::string& setting) {
  std::vector<NicHint> hints;
  if (!setting.empty()) hints.push_back({"ESPALIER_NIC", setting});
  for (const char* name : transport_variables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') hints.push_back({name, value});
  return hints;
}

NicsInUse derive_nics_in_use(const Node& node, const std::vector<NicHint>& hints) {
  NicsInUse use;
  for (const NicHint& hint : hints) {
    use.nics = follow(node, hint.value);
    // An exclusion leaves a choice open; a list of names does not.
    if (hint.value.starts_with('^')) keep_fastest(node, use.nics);
    if (use.nics.empty()) continue;
    use.reason = names_of(node, use.nics) + ": " + hint.name + "=" + hint.value;
    break;
  }
  if (use.nics.empty()) {
    for (std::size_t i = 0; i < node.nics.size(); ++i) use.nics.push_back(static_cast<int>(i));
    keep_fastest(node, use.nics);
    use.reason = use.nics.empty() ? "no network device is up" : names_of(node, use.nics) + ": the fastest that is up";
  }
  if (use.nics.size() > most_nics) use.nics.resize(most_nics);
  return use;
}

}  // namespace espalier::machine
