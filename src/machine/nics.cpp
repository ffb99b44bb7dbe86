#include "machine/nics.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace espalier::machine {
namespace {

struct Variable {
  const char* name;
  bool excludes = false;  ///< it names what is not to be used, as others do behind a "^"
};

// UCX (MPICH and Open MPI on InfiniBand), libfabric's providers (Intel MPI, MPICH) with PSM3's own and UCX below them,
// Intel MPI's older fabrics, MVAPICH, Open MPI's own transports; fabric before TCP. Left out: those that hold unit
// numbers or speeds (HFI_UNIT, PSM3_NIC_SPEED), what launchers talk through (I_MPI_HYDRA_IFACE, oob_tcp_if_include),
// and Open MPI's common_ucx_devices, patterns by which it decides whether to use UCX at all.
constexpr Variable variables[] = {
    {"UCX_NET_DEVICES"},
    {"FI_CXI_DEVICE_NAME"},
    {"FI_VERBS_DEVICE_NAME"},
    {"FI_VERBS_IFACE"},
    {"FI_EFA_IFACE"},
    {"FI_MLX_DEVICES"},
    {"PSM3_NIC"},
    {"I_MPI_OFA_ADAPTER_NAME"},
    {"MV2_IBA_HCA"},
    {"OMPI_MCA_btl_openib_if_include"},
    {"OMPI_MCA_btl_openib_if_exclude", true},
    {"FI_TCP_IFACE"},
    {"FI_SOCKETS_IFACE"},
    {"I_MPI_TCP_NETMASK"},
    {"OMPI_MCA_btl_tcp_if_include"},
    {"OMPI_MCA_btl_tcp_if_exclude", true},
};

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
    // Behind a colon: a port, or in MVAPICH's lists the next device.
    for (std::size_t begin = 0, end; begin <= word.size(); begin = end + 1) {
      end = std::min(word.find(':', begin), word.size());
      if (std::find(nic.names.begin(), nic.names.end(), word.substr(begin, end - begin)) != nic.names.end())
        return true;
    }
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
  for (const auto& [name, excludes] : variables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      hints.push_back({name, (excludes ? "^" : "") + std::string(value)});
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
