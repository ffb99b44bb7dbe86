#include "topology/network.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "fabric/client.hpp"
#include "fabric/readers.hpp"

namespace espalier::topology {
namespace {

using fabric::Metric;
using fabric::Question;

// Both matrices row by row; infinite where there is no route.
Distances combine(std::size_t nodes, const std::vector<double>& latencies, const std::vector<double>& per_byte) {
  Way farthest;
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    if (!std::isfinite(latencies[i]) || !std::isfinite(per_byte[i])) continue;
    farthest.latency = std::max(farthest.latency, static_cast<float>(latencies[i]));
    farthest.per_byte = std::max(farthest.per_byte, static_cast<float>(per_byte[i]));
  }
  std::vector<Way> ways;
  ways.reserve(latencies.size());
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    const bool is_routed = std::isfinite(latencies[i]) && std::isfinite(per_byte[i]);
    ways.push_back(is_routed ? Way{static_cast<float>(latencies[i]), static_cast<float>(per_byte[i])} : farthest);
  }
  return Distances::from_matrix(static_cast<int>(nodes), ways);
}

Distances read_dumps(const std::string& folder, const std::vector<std::string>& hosts) {
  const fabric::Fabric fabric = fabric::load_folder(folder);
  std::vector<fabric::Endpoint> ends;
  for (const std::string& host : hosts) ends.push_back(fabric.find_endpoint(host));
  return derive_distances(fabric::Delays::derive(fabric, ends));
}

Distances ask_service(const std::string& address, const std::vector<std::string>& hosts,
                      std::chrono::milliseconds limit) {
  fabric::Client client(address, limit);
  std::vector<double> matrices[2];
  const Metric metrics[2] = {Metric::latency, Metric::speed};
  for (int i = 0; i < 2; ++i)
    if (!client.ask_matrix(hosts, Question{metrics[i], 0, {}}, matrices[i])) throw Error(client.error());
  return combine(hosts.size(), matrices[0], matrices[1]);
}

}  // namespace

Distances derive_distances(const fabric::Delays& delays) {
  return combine(delays.hosts(), delays.matrix({Metric::latency, 0, fabric::LatencyTable::ranger()}),
                 delays.matrix({Metric::speed, 0, {}}));
}

Distances ask_distances(const std::string& address, const std::vector<std::string>& hosts,
                        std::chrono::milliseconds limit) {
  std::error_code ignored;
  return std::filesystem::is_directory(address, ignored) ? read_dumps(address, hosts)
                                                         : ask_service(address, hosts, limit);
}

}  // namespace espalier::topology
