#include "topology/network.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "fabric/dumps/readers.hpp"
#include "fabric/queries/client.hpp"

namespace espalier::topology {
namespace {

// Where there is no route: as far apart as the farthest two.
Way find_farthest(const fabric::ClassDelays& delays) {
  Way farthest;
  for (const auto& way : delays.ways) {
    if (!std::isfinite(way.latency) || !std::isfinite(way.per_byte)) continue;
    farthest.latency = std::max(farthest.latency, static_cast<float>(way.latency));
    farthest.per_byte = std::max(farthest.per_byte, static_cast<float>(way.per_byte));
  }
  return farthest;
}

// No more classes than Distances::from_matrix would find: nodes that are alone at their switches, for instance, are all
// equally far apart. Two nodes of each class stand for all of it.
Distances merge_classes(const Distances& all) {
  std::vector<int> samples, first(static_cast<std::size_t>(all.classes())), met(first.size());
  for (int node = 0; node < all.nodes(); ++node) {
    const auto c = static_cast<std::size_t>(all.class_of(NodeId(node)));
    if (met[c] == 0) first[c] = static_cast<int>(samples.size());
    if (++met[c] <= 2) samples.push_back(node);
  }
  std::vector<Way> matrix;
  matrix.reserve(samples.size() * samples.size());
  for (const int from : samples)
    for (const int to : samples) matrix.push_back(all.way(NodeId(from), NodeId(to)));
  const Distances few = Distances::from_matrix(static_cast<int>(samples.size()), matrix);
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const int twin = first[static_cast<std::size_t>(all.class_of(NodeId(samples[sample])))];
    if (few.class_of()[sample] != few.class_of()[static_cast<std::size_t>(twin)]) return all;
  }
  std::vector<int> class_of;
  for (const int c : all.class_of())
    class_of.push_back(few.class_of()[static_cast<std::size_t>(first[static_cast<std::size_t>(c)])]);
  return Distances::from_classes(std::move(class_of), few.ways());
}

Distances read_dumps(const std::string& folder, const std::vector<std::string>& hosts) {
  const fabric::Fabric fabric = fabric::load_folder(folder);
  std::vector<fabric::Endpoint> ends;
  for (const std::string& host : hosts) ends.push_back(fabric.find_endpoint(host));
  return derive_distances(fabric, ends);
}

Distances ask_service(const std::string& address, const std::vector<std::string>& hosts,
                      std::chrono::milliseconds limit) {
  fabric::Client client(address, limit);
  fabric::ClassDelays delays;
  if (!client.ask_classes(hosts, delays)) throw Error(client.error());
  return derive_distances(delays);
}

// Hosts of one switch share its cables, whatever their classes.
Trunks derive_trunks(const fabric::ClassDelays& delays) {
  Trunks trunks;
  for (std::size_t c = 0; c < delays.classes; ++c) {
    const auto leaf = static_cast<std::size_t>(delays.switch_of[c]);
    trunks.per_byte.resize(std::max(trunks.per_byte.size(), leaf + 1));
    trunks.per_byte[leaf] = static_cast<float>(delays.trunk[c]);
  }
  for (const int c : delays.class_of) trunks.leaf_of.push_back(delays.switch_of[static_cast<std::size_t>(c)]);
  return trunks;
}

}  // namespace

Distances derive_distances(const fabric::ClassDelays& delays) {
  const Way farthest = find_farthest(delays);
  std::vector<Way> ways;
  ways.reserve(delays.between.size());
  for (const int number : delays.between) {
    const auto& way = delays.ways[static_cast<std::size_t>(number)];
    const bool is_routed = std::isfinite(way.latency) && std::isfinite(way.per_byte);
    ways.push_back(is_routed ? Way{static_cast<float>(way.latency), static_cast<float>(way.per_byte)} : farthest);
  }
  return merge_classes(Distances::from_classes(delays.class_of, std::move(ways))).with_trunks(derive_trunks(delays));
}

Distances derive_distances(const fabric::Delays& delays) {
  return derive_distances(fabric::derive_class_delays(delays, fabric::LatencyTable::ranger()));
}

Cables derive_cables(const fabric::RouteCables& routes) {
  const auto is_known = [](double gbps) { return gbps > 0; };
  if (std::none_of(routes.gbps.begin(), routes.gbps.end(), is_known)) return {};
  Cables cables{{}, routes.begin, routes.taken};
  // 1 Gbit/s is 125 bytes per µs.
  for (const double gbps : routes.gbps) cables.per_byte.push_back(gbps > 0 ? static_cast<float>(1 / (gbps * 125)) : 0);
  return cables;
}

Distances derive_distances(const fabric::Fabric& fabric, const std::vector<fabric::Endpoint>& hosts) {
  const Distances found = derive_distances(fabric::Delays::derive(fabric, hosts));
  if (fabric.basis != fabric::Basis::tables) return found;
  return found.with_cables(derive_cables(fabric::derive_cables(fabric, hosts, Cables::most_routes)));
}

Distances ask_distances(const std::string& address, const std::vector<std::string>& hosts,
                        std::chrono::milliseconds limit) {
  std::error_code ignored;
  return std::filesystem::is_directory(address, ignored) ? read_dumps(address, hosts)
                                                         : ask_service(address, hosts, limit);
}

}  // namespace espalier::topology
