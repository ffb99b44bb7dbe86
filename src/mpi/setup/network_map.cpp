#include "mpi/setup/network_map.hpp"

#include <unistd.h>

#include <array>

#include "base/error.hpp"
#include "fabric/dumps/host_list.hpp"
#include "topology/network.hpp"

namespace espalier::mpi {

using topology::Distances;

Distances NetworkMap::find(const Hosts& hosts, const std::string& address, std::chrono::milliseconds limit) {
  if (auto known = find_known(hosts)) return *known;
  {
    const std::lock_guard lock(mutex_);
    if (has_given_up_) return {};
  }
  try {
    return topology::ask_distances(address, hosts, limit);
  } catch (const Error&) {
    give_up();
    throw;
  }
}

std::optional<Distances> NetworkMap::find_known(const Hosts& hosts) const {
  const std::lock_guard lock(mutex_);
  std::vector<int> nodes;
  for (const std::string& host : hosts) {
    const auto known = index_.find(host);
    if (known == index_.end()) return std::nullopt;
    nodes.push_back(known->second);
  }
  return distances_.between(nodes);
}

void NetworkMap::keep(const Hosts& hosts, const Distances& distances) {
  if (find_known(hosts)) return;
  const std::lock_guard lock(mutex_);
  index_.clear();
  for (std::size_t node = 0; node < hosts.size(); ++node) index_.try_emplace(hosts[node], static_cast<int>(node));
  distances_ = distances;
}

void NetworkMap::give_up() {
  const std::lock_guard lock(mutex_);
  has_given_up_ = true;
}

std::string probe_host_name(const std::string& pretended, int virtual_node) {
  if (!pretended.empty()) {
    constexpr std::size_t most = 1 << 16;
    const auto names = fabric::expand_host_list(pretended, most);
    if (static_cast<std::size_t>(virtual_node) >= names.size())
      throw Error("ESPALIER_FABRIC_HOSTS has no name for virtual node " + std::to_string(virtual_node));
    return names[static_cast<std::size_t>(virtual_node)];
  }
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

}  // namespace espalier::mpi
