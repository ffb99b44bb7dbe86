#pragma once
// A network to simulate on: hosts, one link per direction of every cable, and the links between two hosts. Pure, but
// for reading a folder of dumps.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/graph.hpp"
#include "flows/fluid.hpp"
#include "topology/distances.hpp"

namespace espalier::simulate {

/// One direction of a cable, with its name.
struct Link : flows::Link {
  std::string name;
};

/// What is equal all over a generated network.
struct Wiring {
  /// Of a host's adapter, and of every cable unless said otherwise.
  double rate = 10000;
  /// By level: host to switch, then between switches on ever higher levels; the last counts for all above. The default
  /// adds up to the latencies that Subramoni et al. measured on Ranger: 1.57, 2.04, 2.45, 2.85 µs (Table II).
  std::vector<double> latency = {0.785, 0.235, 0.205, 0.2};
  /// So many hosts, spread evenly, have adapters of another rate; 0: none.
  int slow_hosts = 0;
  double slow_rate = 0;

  double latency_at(std::size_t level) const { return latency[std::min(level, latency.size() - 1)]; }
};

class Network {
 public:
  virtual ~Network() = default;

  int hosts() const { return hosts_; }
  const std::vector<Link>& links() const { return links_; }
  /// Indices into links(), in the order they are crossed; `from` and `to` differ. One path, the same each time.
  virtual std::vector<int> route(int from, int to) const = 0;
  /// "two-level fat tree: 64 leaves x 16 hosts, 8 spines"
  virtual std::string describe() const = 0;
  /// Hosts with the same number sit on one switch: from 0, without gaps.
  virtual int rack_of(int host) const = 0;
  /// The host of this name: "host17", or as the dumps call it. Throws Error when there is none.
  virtual int find_host(std::string_view name) const;
  /// What a topology service that knows this network says about some of its hosts, in this order: of each pair the
  /// latency and the slowest link of its route, what hosts of one switch share, and the cables of all routes.
  /// O(hosts^2).
  virtual topology::Distances distances(std::span<const int> hosts) const;

 protected:
  /// What the cables of a rack's switch to other switches carry together in each direction, in bytes per microsecond;
  /// 0: there are none. For `distances`.
  virtual double trunk_rate(int /*rack*/) const { return 0; }

  explicit Network(int hosts);
  Network(int hosts, const Wiring& wiring);

  int add(std::string name, double rate, double latency, bool is_shared = true);
  /// A link up and one down between each of `lowers` switches called `lower` and each of `uppers`: lower 0's to upper
  /// 0, back, to upper 1, …
  void add_cables(const std::string& lower, int lowers, int uppers, double rate, double latency);
  double rate_of(int link) const { return links_[static_cast<std::size_t>(link)].rate; }
  /// From a host to its switch, and back.
  int up_from(int host) const { return 2 * host; }
  int down_to(int host) const { return 2 * host + 1; }

 private:
  topology::Trunks trunks_of(std::span<const int> hosts) const;
  topology::Cables cables_of(std::span<const int> hosts) const;

  int hosts_;
  std::vector<Link> links_;
};

/// All hosts on one switch that never blocks.
std::unique_ptr<Network> make_star(int hosts, const Wiring& wiring);

/// `leaves` switches of `down` hosts, each with one cable to each of `spines`. The cables of a leaf carry together its
/// hosts' rate divided by `oversubscription`. Routed by destination, as OpenSM's ftree does: host d is reached over
/// spine d mod spines.
std::unique_ptr<Network> make_fat_tree(int leaves, int down, int spines, double oversubscription, const Wiring& wiring);

/// `pods` such trees (`leaves`, `down`, `spines` each), whose spines are tied together by cores: each spine has a cable
/// to `spines` cores of its own number. `oversubscription` counts at both upper levels.
std::unique_ptr<Network> make_three_level_tree(int pods, int leaves, int down, int spines, double oversubscription,
                                               const Wiring& wiring);

/// `groups` of `routers` with `down` hosts each: routers of a group are all connected, and each pair of groups by one
/// cable of `global_rate`. Minimal routing (Kim et al., ISCA 2008): at most local, global, local.
std::unique_ptr<Network> make_dragonfly(int groups, int routers, int down, double global_rate, const Wiring& wiring);

/// The network that dumps describe: its hosts, each with its first port; the cables between its switches; and the
/// routes that packets take there. A cable whose rate is not known has that of `wiring`. A route's latency is what
/// Subramoni et al. measured on Ranger for so many links (fabric::LatencyTable), the same as the topology service says.
std::unique_ptr<Network> make_fabric(fabric::Fabric fabric, const Wiring& wiring);

/// "star:hosts=8", "fat_tree:leaves=4,down=16,spines=8,oversubscription=2",
/// "three_level:pods=4,leaves=8,down=8,spines=8", "dragonfly:groups=9,routers=4,down=4"; each with rate=10000,
/// latency=0.785/0.235, slow_hosts=N, slow_rate=R. Or "fabric:FOLDER": dumps of a network that exists, plain text only.
/// Throws Error naming what is not understood, with the remedy.
std::unique_ptr<Network> parse_network(std::string_view text);

}  // namespace espalier::simulate
