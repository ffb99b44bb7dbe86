#pragma once
// How far apart hosts are, for laying trees onto the network (Subramoni et al., "Design and evaluation of network
// topology-/speed-aware broadcast algorithms for InfiniBand clusters", IV-B).

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "fabric/routes.hpp"
#include "fabric/walker.hpp"

namespace espalier::fabric {

enum class Metric : std::uint8_t {
  hops,      ///< links crossed on the actual route
  latency,   ///< µs, by the number of links crossed
  speed,     ///< µs per byte: the inverse of the slowest link on the route
  adapter,   ///< µs per byte: the inverse of the slower adapter of the two, as in the paper, which asks no switch
  combined,  ///< µs for a message of some size: latency + size x speed
};
std::string_view name_of(Metric metric);
/// Throws Error on anything but a metric's name.
Metric parse_metric(std::string_view text);

/// Latency of a small message by the number of links it crosses.
struct LatencyTable {
  /// (links, µs), ascending by links; between two points one interpolates, outside the nearest one holds. Calibrate it
  /// with a ping-pong between hosts at each distance.
  std::vector<std::pair<int, double>> points;

  double at(int links) const;
  /// TACC Ranger, Table II of the paper: 1.57, 2.04, 2.45 and 2.85 µs at 0, 1, 3 and 5 hops between switch chips, thus
  /// at two links more: those of the two hosts.
  static LatencyTable ranger();
};

/// What a delay is to mean.
struct Question {
  Metric metric = Metric::hops;
  Bytes bytes = 0;  ///< of `combined`
  LatencyTable latency = LatencyTable::ranger();
};

/// Delays between all pairs of a list of hosts. A route depends on where it begins only by the first switch, so what is
/// kept is one column per destination with a cell per first switch; hosts with equal columns share one. On regular
/// networks that is a matrix of switch pairs, and it stays exact on all others. 1024 hosts take milliseconds.
class Delays {
 public:
  /// Walks the routes. `fabric` is not kept.
  static Delays derive(const Fabric& fabric, const std::vector<Endpoint>& hosts);

  std::size_t hosts() const { return ends_.size(); }
  RouteStatus status(std::size_t from, std::size_t to) const;
  /// Links on the route; 0 to oneself, -1 when there is none.
  int links(std::size_t from, std::size_t to) const;
  /// The slowest link on the route, 10^9 bit/s; 0 when no rate is known or there is no route.
  double gbps(std::size_t from, std::size_t to) const;
  /// The delay; 0 to oneself, infinite without a route. Where no rate is known, speed is 0 for all: nobody is
  /// preferred.
  double delay(std::size_t from, std::size_t to, const Question& question) const;
  /// The whole matrix, row by row: hosts x hosts.
  std::vector<double> matrix(const Question& question) const;
  /// How many ordered pairs of different hosts have each status, with the first such pair; statuses that occur only.
  struct Count {
    RouteStatus status;
    std::size_t pairs;
    std::size_t from, to;
  };
  std::vector<Count> count_statuses() const;
  /// A number for each host, from 0 in the order in which they first occur. Hosts with one number sit on one first
  /// switch at one rate, and routes to them cost the same from everywhere: delays differ by class only.
  std::vector<int> classes() const;
  /// The row of the host's first switch, from 0; -1 when its port leads to none.
  int first_switch(std::size_t host) const { return ends_[host].first_switch; }
  /// What all cables from the host's first switch to other switches carry together in each direction, 10^9 bit/s; 0
  /// when that is not known, or there are none.
  double trunk_gbps(std::size_t host) const {
    return ends_[host].first_switch < 0 ? 0 : trunks_[static_cast<std::size_t>(ends_[host].first_switch)];
  }
  /// How many (first switch, column) pairs are kept.
  std::size_t cells() const { return cells_.size(); }

 private:
  struct End {
    Endpoint at;
    int first_switch = -1;  ///< row among the first switches; -1: the port leads to no switch
    Endpoint neighbour;     ///< what a port that leads to no switch leads to
    double gbps = 0;        ///< of the adapter's link
    std::size_t column = 0;
  };

  Leg leg(std::size_t from, std::size_t to) const;
  std::vector<Endpoint> add_ends(const Fabric& fabric, const std::vector<Endpoint>& hosts);
  std::size_t add_column(const std::vector<Leg>& column, std::unordered_multimap<std::size_t, std::size_t>& by_hash);

  std::vector<End> ends_;
  std::size_t rows_ = 0;
  std::vector<Leg> cells_;      ///< column by column
  std::vector<double> trunks_;  ///< by row
};

}  // namespace espalier::fabric
