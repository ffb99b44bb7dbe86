#include "trees/reach.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::trees {

using topology::Distances;

namespace {

/// What starting a message costs its sender, µs (as cost::Parameters::overhead).
constexpr double setting_out = 0.4;
/// What packing costs, µs per byte: a copy that does not stay in the second-level cache (cost::Parameters::caches).
constexpr double packing_per_byte = 1.0 / 11000;

NodeId node_at(std::span<const int> order, std::size_t position) { return NodeId(order[position]); }

/// The trunks of all leaves in one direction, and the work that is left for each.
class BusyTrunks {
 public:
  explicit BusyTrunks(const topology::Trunks& facts) : facts_(facts), busy_until_(facts.per_byte.size()) {}

  /// How long what has come before keeps the leaf's trunk busy after `now`, µs.
  double backlog(std::size_t leaf, double now) const { return std::max(0.0, busy_until_[leaf] - now); }
  double time_of(std::size_t leaf, double bytes) const { return bytes * facts_.per_byte[leaf]; }
  /// Takes `bytes` on; gives when the trunk is through with all.
  double add(std::size_t leaf, double now, double bytes) {
    busy_until_[leaf] = std::max(busy_until_[leaf], now) + time_of(leaf, bytes);
    return busy_until_[leaf];
  }

 private:
  const topology::Trunks& facts_;
  std::vector<double> busy_until_;  ///< by leaf
};

bool has_known(const topology::Trunks& trunks) {
  return std::any_of(trunks.per_byte.begin(), trunks.per_byte.end(), [](float per_byte) { return per_byte > 0; });
}

std::size_t leaf_of(const Distances& distances, NodeId node) {
  return static_cast<std::size_t>(distances.trunks().leaf_of[static_cast<std::size_t>(node.value)]);
}

/// One of the messages that a node starts together.
struct Flow {
  std::size_t child;
  double bytes;
  double alone;     ///< µs that it would take behind the node's own link, if that carried nothing else
  bool crosses;     ///< leaves the leaf
  double sets_out;  ///< when its sender has started it
  double latency;   ///< µs

  /// Its part of what it shares with others: a connection's window returns the sooner the shorter its way.
  double weight() const { return latency > 0 ? 1 / latency : 1; }
  /// The most that it takes of its node's link.
  double rate() const { return alone > 0 ? bytes / alone : std::numeric_limits<double>::infinity(); }
};

/// What of all of them has gone through something that they share, by weight, when `flow` is through.
double shared_bytes(std::span<const Flow> flows, const Flow& flow) {
  double bytes = 0;
  for (const Flow& other : flows) bytes += std::min(other.bytes, flow.bytes * other.weight() / flow.weight());
  return bytes;
}

}  // namespace

Reach::Reach(const Distances& distances, const Layout& layout, std::span<const Branch> branches)
    : distances_(distances), layout_(layout), segments_(1), has_trunks_(has_known(distances.trunks())) {
  if (layout.segment > 0 && layout.bytes > layout.segment)
    segments_ = static_cast<double>((layout.bytes + layout.segment - 1) / layout.segment);
  edges_.reserve(branches.size());
  for (const Branch& branch : branches) {
    first_edge_.push_back(edges_.size());
    for (const int child : branch.children) {
      const Bytes bytes = edge_bytes(layout, child, branches[static_cast<std::size_t>(child)].end);
      edges_.push_back({static_cast<std::size_t>(child), static_cast<double>(bytes)});
    }
  }
  first_edge_.push_back(edges_.size());
}

Reach::Price Reach::of(std::span<const int> order) const {
  if (distances_.classes() == 0 || order.size() < 2) return {};
  if (layout_.shape == Shape::ring) return {ring(order), 0};
  Price price = tree(order);
  if (layout_.shape == Shape::scatter_ring) price.last += ring(order);
  return price;
}

/// One segment's way down the tree, vertex by vertex.
class Reach::Walk {
 public:
  Walk(const Reach& reach, std::span<const int> order)
      : reach_(reach),
        distances_(reach.distances_),
        order_(order),
        has_(order.size()),
        up_(distances_.trunks()),
        down_(distances_.trunks()),
        up_load_(distances_.trunks()),
        down_load_(distances_.trunks()) {}

  /// Parents before their children: right where messages of different vertices do not meet.
  void take_all() {
    for (std::size_t position = 0; position < order_.size(); ++position) {
      if (!sends_in_turn(position)) {
        take(position);
        continue;
      }
      double now = has_[position];
      for (std::size_t i = 0; i < children_of(position).size(); ++i) now = send_in_turn(position, i, now);
    }
  }

  /// In the order in which they have the message, or send it in turn, so that trunks fill as time goes on.
  void take_all_in_time() {
    using Due = std::tuple<double, std::size_t, std::size_t>;  // when, position, the number of the child in turn
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
    for (due.emplace(0, 0, 0); !due.empty();) {
      const auto [now, position, number] = due.top();
      due.pop();
      const bool is_in_turn = sends_in_turn(position);
      const std::span<const Edge> edges = children_of(position);
      if (!is_in_turn)
        take(position);
      else if (const double left = send_in_turn(position, number, now); number + 1 < edges.size())
        due.emplace(left, position, number + 1);
      for (const Edge& edge : is_in_turn ? edges.subspan(number, 1) : edges)
        if (!children_of(edge.child).empty()) due.emplace(has_[edge.child], edge.child, 0);
    }
  }

  Price price(double segments) const { return {last_ + (segments - 1) * period_, sum_}; }

 private:
  std::span<const Edge> children_of(std::size_t position) const {
    const std::size_t first = reach_.first_edge_[position];
    return std::span(reach_.edges_).subspan(first, reach_.first_edge_[position + 1] - first);
  }

  void take(std::size_t position) {
    const NodeId from = node_at(order_, position);
    const double own = distances_.own_per_byte(distances_.class_of(from)), now = has_[position];
    start(position, from, own, now);
    if (reach_.layout_.goes_up) return finish_in_turn(from);
    if (reach_.has_trunks_) cross(from, now);
    share_link(own);
  }

  /// As trees::most_to_children says; children with the largest subtrees come first.
  bool sends_in_turn(std::size_t position) const {
    const std::span<const Edge> edges = children_of(position);
    return !reach_.layout_.goes_up && edges.size() > 1 && !children_of(edges[0].child).empty() &&
           edges[0].bytes + edges[1].bytes > static_cast<double>(most_to_children);
  }

  /// One of them when the one before has left, at `now`; gives when it has.
  double send_in_turn(std::size_t position, std::size_t number, double now) {
    const NodeId from = node_at(order_, position);
    if (number == 0) start(position, from, distances_.own_per_byte(distances_.class_of(from)), now);  // the period
    Flow flow = flow_of(from, children_of(position)[number], now + setting_out);
    if (flow.crosses)
      wait_for_trunks(leaf_of(distances_, from), leaf_of(distances_, node_at(order_, flow.child)), flow);
    arrive(flow, flow.alone);
    return flow.sets_out + flow.alone;
  }

  Flow flow_of(NodeId from, const Edge& edge, double sets_out) const {
    const NodeId to = node_at(order_, edge.child);
    const topology::Way way = distances_.way(from, to);
    const bool crosses = reach_.has_trunks_ && leaf_of(distances_, from) != leaf_of(distances_, to);
    return {edge.child, edge.bytes, edge.bytes * way.per_byte, crosses, sets_out, way.latency};
  }

  /// The messages to all children set out one after the other: downwards at once, upwards when the link is free again.
  void start(std::size_t position, NodeId from, double own, double now) {
    flows_.clear();
    double sets_out = now, busy = 0;
    for (const Edge& edge : children_of(position)) {
      sets_out += setting_out;
      flows_.push_back(flow_of(from, edge, sets_out));
      if (reach_.layout_.goes_up) sets_out += edge.bytes * own;
      busy += setting_out + edge.bytes * own;
      period_ = std::max({period_, busy, setting_out + flows_.back().alone});
    }
  }

  /// What goes up is priced as what goes down in reversed time: a vertex hears from its children one after the other,
  /// the larger its subtree the later, so that they hardly meet at its link.
  void finish_in_turn(NodeId from) {
    for (Flow& flow : flows_) {
      if (flow.crosses)
        wait_for_trunks(leaf_of(distances_, from), leaf_of(distances_, node_at(order_, flow.child)), flow);
      arrive(flow, flow.alone);
    }
  }

  void wait_for_trunks(std::size_t here, std::size_t there, Flow& flow) {
    flow.alone += std::max(up_.backlog(here, flow.sets_out), down_.backlog(there, flow.sets_out));
    load(here, there, flow.sets_out, flow.bytes);
  }

  void load(std::size_t here, std::size_t there, double now, double bytes) {
    up_.add(here, now, bytes);
    down_.add(there, now, bytes);
    period_ = std::max({period_, up_load_.add(here, 0, bytes), down_load_.add(there, 0, bytes)});
  }

  /// Lets messages wait for others that share a trunk with them, going up or coming down: then they still take their
  /// own way's time. Which cable of a trunk a message takes is not known; among x of them that share m cables evenly by
  /// chance, each meets (x - 1) / m others.
  void cross(NodeId from, double now) {
    const std::size_t here = leaf_of(distances_, from);
    const auto inside = std::stable_partition(flows_.begin(), flows_.end(), [](const Flow& it) { return it.crosses; });
    const std::span<Flow> climbing(flows_.begin(), inside);
    const double before = up_.backlog(here, now);
    for (Flow& flow : climbing) {
      const std::size_t there = leaf_of(distances_, node_at(order_, flow.child));
      const double up = before + up_.time_of(here, shared_bytes(climbing, flow) - flow.bytes);
      flow.alone += std::max(up, down_.backlog(there, now));
      load(here, there, now, flow.bytes);
    }
  }

  /// The node's link is shared among its messages by weight, but for those that are held up elsewhere: what these leave
  /// of it the others have (max-min fairness).
  void share_link(double own) {
    std::stable_sort(flows_.begin(), flows_.end(),
                     [](const Flow& a, const Flow& b) { return a.rate() / a.weight() < b.rate() / b.weight(); });
    double left = own > 0 ? 1 / own : 0;
    std::size_t held = 0;
    for (; held < flows_.size() && own > 0; ++held) {
      double weights = 0;
      for (std::size_t i = held; i < flows_.size(); ++i) weights += flows_[i].weight();
      if (flows_[held].rate() * weights > left * flows_[held].weight() * (1 + 1e-9)) break;
      left -= flows_[held].rate();
    }
    const std::span<const Flow> rest = std::span(flows_).subspan(held);
    for (std::size_t i = 0; i < flows_.size(); ++i)
      arrive(flows_[i], i < held || own == 0 ? flows_[i].alone : shared_bytes(rest, flows_[i]) / left);
  }

  void arrive(const Flow& flow, double took) {
    const double when = flow.sets_out + flow.latency + took;
    has_[flow.child] = when;
    last_ = std::max(last_, when);
    sum_ += when;
  }

  const Reach& reach_;
  const Distances& distances_;
  std::span<const int> order_;
  std::vector<double> has_;         ///< by position: when it has the message
  std::vector<Flow> flows_;         ///< of the vertex at hand
  BusyTrunks up_, down_;            ///< as time goes on
  BusyTrunks up_load_, down_load_;  ///< by one segment altogether
  double period_ = 0, last_ = 0, sum_ = 0;
};

Reach::Price Reach::tree(std::span<const int> order) const {
  Walk walk(*this, order);
  has_trunks_ ? walk.take_all_in_time() : walk.take_all();
  return walk.price(segments_);
}

/// What one round of a ring has on the trunks: every node's message to its successor.
class Reach::Round {
 public:
  Round(const Reach& reach, std::span<const int> order)
      : distances_(reach.distances_),
        has_trunks_(reach.has_trunks_),
        bytes_(static_cast<double>(reach.layout_.bytes)),
        up_(distances_.trunks()),
        down_(distances_.trunks()) {
    for (std::size_t position = 0; position < order.size(); ++position) {
      const NodeId from = node_at(order, position), to = node_at(order, (position + 1) % order.size());
      if (!crosses(from, to)) continue;
      up_.add(leaf_of(distances_, from), 0, bytes_);
      down_.add(leaf_of(distances_, to), 0, bytes_);
    }
  }

  /// How long one message takes, its latency aside: its own way, and on a trunk for the others there, of which it meets
  /// as many by chance as there are for each cable (Walk::cross).
  double time(NodeId from, NodeId to) const {
    const double alone = setting_out + bytes_ * distances_.way(from, to).per_byte;
    if (!crosses(from, to)) return alone;
    return alone + std::max(others(up_, leaf_of(distances_, from)), others(down_, leaf_of(distances_, to)));
  }

 private:
  bool crosses(NodeId from, NodeId to) const {
    return has_trunks_ && leaf_of(distances_, from) != leaf_of(distances_, to);
  }
  double others(const BusyTrunks& trunks, std::size_t leaf) const {
    return trunks.backlog(leaf, 0) - trunks.time_of(leaf, bytes_);
  }

  const Distances& distances_;
  bool has_trunks_;
  double bytes_;
  BusyTrunks up_, down_;
};

double Reach::ring(std::span<const int> order) const {
  const Round round(*this, order);
  double latencies = 0, slowest = 0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    const NodeId from = node_at(order, position), to = node_at(order, (position + 1) % order.size());
    latencies += distances_.way(from, to).latency;
    slowest = std::max(slowest, round.time(from, to));
  }
  return latencies + static_cast<double>(order.size() - 1) * slowest;
}

double Reach::packing(std::span<const int> order) const {
  if (!layout_.is_split || distances_.classes() == 0) return 0;
  const auto count = static_cast<int>(order.size());
  for (int position = 0; position < count; ++position)
    if (order[static_cast<std::size_t>(position)] != (layout_.root + position) % count)
      return packing_per_byte * static_cast<double>(layout_.bytes) * (count - 1);
  return 0;
}

}  // namespace espalier::trees
