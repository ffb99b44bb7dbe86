#include "fabric/delays.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/error.hpp"

namespace espalier::fabric {
namespace {

constexpr std::array<std::string_view, 5> kMetricNames = {"hops", "latency", "speed", "adapter", "combined"};

}  // namespace

std::string_view name_of(Metric metric) { return kMetricNames.at(static_cast<std::size_t>(metric)); }

Metric parse_metric(std::string_view text) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i)
    if (kMetricNames[i] == text) return static_cast<Metric>(i);
  throw Error("'" + std::string(text) + "' is no metric: hops, latency, speed, adapter or combined");
}

double LatencyTable::at(int links) const {
  if (points.empty()) return 0;
  const auto above =
      std::find_if(points.begin(), points.end(), [links](const auto& point) { return point.first >= links; });
  if (above == points.end()) return points.back().second;
  if (above == points.begin() || above->first == links) return above->second;
  const auto& below = *(above - 1);
  return below.second + (above->second - below.second) * (links - below.first) / (above->first - below.first);
}

LatencyTable LatencyTable::ranger() { return {{{2, 1.57}, {3, 2.04}, {5, 2.45}, {7, 2.85}}}; }

namespace {

// Of all cables that lead from a switch to others; 0 when the rate of one of them is not known.
double sum_of_cables_up(const Fabric& fabric, NodeIndex node) {
  double sum = 0;
  for (std::size_t number = 1; number < fabric.node(node).ports.size(); ++number) {
    const auto* cable = fabric.cable(node, static_cast<PortNumber>(number));
    if (cable == nullptr || !fabric.node(cable->peer).is_switch()) continue;
    if (cable->rate.gbps() == 0) return 0;
    sum += cable->rate.gbps();
  }
  return sum;
}

}  // namespace

// One host per first switch stands for all of that switch: routes differ by the link to it only.
std::vector<Endpoint> Delays::add_ends(const Fabric& fabric, const std::vector<Endpoint>& hosts) {
  std::vector<Endpoint> samples;
  std::unordered_map<NodeIndex, int> rows;
  for (const auto& host : hosts) {
    auto& end = ends_.emplace_back();
    end.at = host;
    const auto* cable = fabric.cable(host.node, host.port);
    if (cable == nullptr) continue;
    end.gbps = cable->rate.gbps();
    end.neighbour = {cable->peer, cable->peer_port};
    if (!fabric.node(cable->peer).is_switch()) continue;
    const auto [row, is_new] = rows.try_emplace(cable->peer, static_cast<int>(samples.size()));
    end.first_switch = row->second;
    if (!is_new) continue;
    samples.push_back(end.neighbour);
    trunks_.push_back(sum_of_cables_up(fabric, cable->peer));
  }
  rows_ = samples.size();
  return samples;
}

Delays Delays::derive(const Fabric& fabric, const std::vector<Endpoint>& hosts) {
  Delays delays;
  const auto samples = delays.add_ends(fabric, hosts);
  Walker walker(fabric);
  std::unordered_multimap<std::size_t, std::size_t> by_hash;
  std::vector<Leg> column(samples.size());
  for (auto& end : delays.ends_) {
    for (std::size_t row = 0; row < samples.size(); ++row)
      column[row] = walker.walk(samples[row].node, samples[row].port, end.at);
    end.column = delays.add_column(column, by_hash);
  }
  return delays;
}

std::size_t Delays::add_column(const std::vector<Leg>& column,
                               std::unordered_multimap<std::size_t, std::size_t>& by_hash) {
  std::size_t hash = 0;
  for (const auto& cell : column)
    hash = hash * 1000003 + (static_cast<std::size_t>(cell.status) << 32 | static_cast<std::size_t>(cell.links) << 40) +
           std::hash<float>()(cell.gbps);
  const auto [begin, end] = by_hash.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (std::equal(column.begin(), column.end(), cells_.begin() + static_cast<std::ptrdiff_t>(known->second * rows_)))
      return known->second;
  const auto index = rows_ == 0 ? 0 : cells_.size() / rows_;
  cells_.insert(cells_.end(), column.begin(), column.end());
  by_hash.emplace(hash, index);
  return index;
}

Leg Delays::leg(std::size_t from, std::size_t to) const {
  const auto& source = ends_[from];
  const auto& target = ends_[to];
  if (source.at.node == target.at.node) return {RouteStatus::self, 0, 0};
  if (source.first_switch < 0) {
    if (source.neighbour == target.at) return {RouteStatus::ok, 1, static_cast<float>(source.gbps)};
    return {source.neighbour.node == kNoNode ? RouteStatus::src_down : RouteStatus::no_path, 0, 0};
  }
  auto found = cells_[target.column * rows_ + static_cast<std::size_t>(source.first_switch)];
  found.gbps = static_cast<float>(slower(found.gbps, source.gbps));
  return found;
}

std::vector<int> Delays::classes() const {
  std::map<std::tuple<int, std::size_t, double>, int> known;
  std::vector<int> class_of;
  int count = 0;
  for (const auto& end : ends_) {
    // What is cabled to no switch is alone, whoever it is like.
    const bool is_new =
        end.first_switch < 0 || known.try_emplace({end.first_switch, end.column, end.gbps}, count).second;
    class_of.push_back(is_new ? count++ : known.at({end.first_switch, end.column, end.gbps}));
  }
  return class_of;
}

RouteStatus Delays::status(std::size_t from, std::size_t to) const { return leg(from, to).status; }

int Delays::links(std::size_t from, std::size_t to) const {
  const auto found = leg(from, to);
  if (found.status == RouteStatus::self) return 0;
  return found.status == RouteStatus::ok ? found.links : -1;
}

double Delays::gbps(std::size_t from, std::size_t to) const {
  const auto found = leg(from, to);
  return found.status == RouteStatus::ok ? found.gbps : 0;
}

double Delays::delay(std::size_t from, std::size_t to, const Question& question) const {
  const auto found = leg(from, to);
  if (found.status == RouteStatus::self) return 0;
  if (found.status != RouteStatus::ok) return std::numeric_limits<double>::infinity();
  switch (question.metric) {
    case Metric::hops: return found.links;
    case Metric::latency: return question.latency.at(found.links);
    case Metric::speed: return us_per_byte(found.gbps);
    case Metric::adapter: return us_per_byte(slower(ends_[from].gbps, ends_[to].gbps));
    case Metric::combined:
      return question.latency.at(found.links) + static_cast<double>(question.bytes) * us_per_byte(found.gbps);
  }
  return 0;
}

std::vector<Delays::Count> Delays::count_statuses() const {
  std::vector<Count> counts;
  for (std::size_t from = 0; from < hosts(); ++from) {
    for (std::size_t to = 0; to < hosts(); ++to) {
      if (from == to) continue;
      const auto found = leg(from, to).status;
      const auto known =
          std::find_if(counts.begin(), counts.end(), [&](const Count& it) { return it.status == found; });
      if (known == counts.end()) {
        counts.push_back({found, 1, from, to});
      } else {
        ++known->pairs;
      }
    }
  }
  return counts;
}

std::vector<double> Delays::matrix(const Question& question) const {
  std::vector<double> values;
  values.reserve(hosts() * hosts());
  for (std::size_t from = 0; from < hosts(); ++from)
    for (std::size_t to = 0; to < hosts(); ++to) values.push_back(delay(from, to, question));
  return values;
}

}  // namespace espalier::fabric
