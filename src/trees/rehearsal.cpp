#include "trees/rehearsal.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace espalier::trees {

using flows::Fluid;
using topology::Distances;

namespace {

/// What starting a message costs its sender, and its end its receiver, µs (as cost::Parameters::overhead).
constexpr double overhead = 0.4;
/// What a message keeps its node's link busy at least, µs (as cost::Parameters::gap).
constexpr double gap = 0.2;
/// Longer messages keep their sender until they have left (as cost::Parameters::eager), and may wait for each other.
constexpr double eager = 64 << 10;
/// Sends left unfinished to each child (algorithms/broadcast/tree.cpp).
constexpr std::size_t sends_ahead = 4;
/// Adding up, µs per byte, while the operands stay in the second-level cache and when not (cost::Parameters).
constexpr double sum_start = 0.05, near_sum = 1.0 / 34000, far_sum = 1.0 / 11000;
constexpr double most_of_near_sum = 256 << 10;
/// Copying, likewise, where all blocks together stay there and where not.
constexpr double copy_start = 0.03, near_copy = 1.0 / 25000, far_copy = 1.0 / 11000;
constexpr Bytes most_of_near_copy = 256 << 10;
/// Rate of what is never full.
constexpr double unbounded = 1e12;
/// Messages that are played of one order: of a pipeline, that is, its first segments, but three of them at least.
constexpr int most_messages = 2048;
constexpr int fewest_segments = 3;
constexpr int fewest_rounds = 8;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// When `all` is over of something of which `part` and `more` steps have been played.
double go_on(double part_time, int part, double more_time, int more, int all) {
  return more_time + (more_time - part_time) / (more - part) * (all - more);
}

double rate_of(double per_byte) { return per_byte > 0 ? 1 / per_byte : unbounded; }

}  // namespace

/// The links of all nodes, and messages on them.
class Rehearsal::Stage {
 public:
  Stage(const Distances& distances, double share)
      : distances_(distances), nodes_(distances.nodes()), fluid_(links_of(share)) {}

  void start(std::size_t name, int from, int to, double bytes, double now) {
    const int leaf = distances_.trunks().leaf_of[at(from)];
    route_ = {2 * from};
    for (const int cable : distances_.cables().route(leaf, to, nodes_)) route_.push_back(2 * nodes_ + cable);
    route_.push_back(delay_.at(latency(from, to)));
    route_.push_back(2 * to + 1);
    const double own = rate_of(distances_.own_per_byte(distances_.class_of(NodeId(from))));
    fluid_.start(name, route_, std::max({bytes, own < unbounded ? gap * own : 0, 1.0}), now);
  }
  float latency(int from, int to) const { return distances_.way(NodeId(from), NodeId(to)).latency; }

  double next() { return fluid_.next(); }
  /// Those that end at `next()`.
  const std::vector<std::size_t>& advance() {
    ended_.clear();
    fluid_.advance(ended_);
    return ended_;
  }

 private:
  std::vector<flows::Link> links_of(double share) {
    std::vector<flows::Link> links;
    for (int node = 0; node < nodes_; ++node)
      links.insert(links.end(), 2, {rate_of(distances_.own_per_byte(distances_.class_of(NodeId(node)))), 0});
    for (const float per_byte : distances_.cables().per_byte) links.push_back({share * rate_of(per_byte), 0});
    for (const topology::Way& way : distances_.ways())
      if (delay_.try_emplace(way.latency, static_cast<int>(links.size())).second)
        links.push_back({unbounded, way.latency, false});
    return links;
  }

  const Distances& distances_;
  int nodes_;
  std::map<float, int> delay_;  ///< by latency: the link that stands for it
  Fluid fluid_;
  std::vector<int> route_;
  std::vector<std::size_t> ended_;
};

/// Down the tree: segment by segment, each to all children in turn.
class Rehearsal::Descent {
 public:
  Descent(const Rehearsal& it, std::span<const int> order, double share, int segments)
      : it_(it), order_(order), segments_(segments), stage_(it.distances_, share), vertices_(order.size()) {
    departures_.assign(it.edges_.size() * at(segments), -1);
    for (std::size_t position = 0; position < vertices_.size(); ++position)
      if (position > 0) vertices_[position].arrivals.assign(at(segments), -1);
    vertices_[0].here = segments;
  }

  double run() {
    go_on(0, 0);
    for (;;) {
      const double due = due_.empty() ? Fluid::never : due_.top().first, landing = stage_.next();
      if (due == Fluid::never && landing == Fluid::never) break;
      if (due <= landing)
        send();
      else
        for (const std::size_t name : stage_.advance()) land(name, landing);
    }
    return last_;
  }

  /// When a position has all that it needs, and has dealt out what others need.
  double is_through(int position) const {
    const Vertex& vertex = vertices_[at(position)];
    double last = vertex.now;
    for (const double arrival : vertex.arrivals) last = std::max(last, arrival + overhead);
    for (int edge = it_.first_edge_[at(position)]; edge < it_.first_edge_[at(position) + 1]; ++edge)
      last = std::max(last, departures_[name_of(edge, segments_ - 1)]);
    return last;
  }

 private:
  struct Vertex {
    int here = 0;                ///< segments that have come, all before them included
    int segment = 0, child = 0;  ///< what it sends next
    double now = 0;              ///< its own clock
    bool is_due = false;
    double under_way = 0;          ///< bytes of long messages
    std::deque<std::size_t> sent;  ///< long messages that it has not seen leave
    std::vector<double> arrivals;
  };

  int children(int position) const { return it_.first_edge_[at(position) + 1] - it_.first_edge_[at(position)]; }
  std::size_t name_of(int edge, int segment) const { return at(edge) * at(segments_) + at(segment); }

  void send() {
    const auto [when, position] = due_.top();
    due_.pop();
    Vertex& vertex = vertices_[at(position)];
    const int number = it_.first_edge_[at(position)] + vertex.child;
    const Edge& edge = it_.edges_[at(number)];
    const std::size_t name = name_of(number, vertex.segment);
    stage_.start(name, order_[at(position)], order_[at(edge.child)], edge.bytes, when);
    if (edge.bytes > eager) vertex.sent.push_back(name), vertex.under_way += edge.bytes;
    vertex.now = when;
    vertex.is_due = false;
    if (++vertex.child == children(position)) vertex.child = 0, ++vertex.segment;
    go_on(position, when);
  }

  /// The position's next message becomes due, unless something that it needs is not there yet.
  void go_on(int position, double now) {
    Vertex& vertex = vertices_[at(position)];
    if (vertex.is_due || children(position) == 0 || vertex.segment >= vertex.here) return;
    if (!has_room(position)) return;
    if (position > 0 && vertex.child == 0)
      vertex.now = std::max(vertex.now, vertex.arrivals[at(vertex.segment)]) + overhead;
    if (position == 0) vertex.now += it_.packing(order_, it_.edges_[at(vertex.child)]);
    vertex.is_due = true;
    due_.emplace(std::max(now, vertex.now + overhead), position);
  }

  bool has_room(int position) {
    Vertex& vertex = vertices_[at(position)];
    const int first = it_.first_edge_[at(position)];
    const double bytes = it_.edges_[at(first + vertex.child)].bytes;
    const bool does_child_hand_on = it_.ends_[at(position)] - position - 1 > children(position);
    const double most = does_child_hand_on ? static_cast<double>(most_to_children) : Fluid::never;
    const auto limit = sends_ahead * at(children(position));
    while (!vertex.sent.empty() && (vertex.sent.size() >= limit || vertex.under_way + bytes > most)) {
      const double left = departures_[vertex.sent.front()];
      if (left < 0) return false;
      vertex.now = std::max(vertex.now, left);
      vertex.under_way -= it_.edges_[vertex.sent.front() / at(segments_)].bytes;
      vertex.sent.pop_front();
    }
    return true;
  }

  void land(std::size_t name, double now) {
    const Edge& edge = it_.edges_[name / at(segments_)];
    Vertex& child = vertices_[at(edge.child)];
    departures_[name] = now - stage_.latency(order_[at(edge.parent)], order_[at(edge.child)]);
    child.arrivals[name % at(segments_)] = now;
    while (child.here < segments_ && child.arrivals[at(child.here)] >= 0) ++child.here;
    last_ = std::max(last_, now + overhead);
    go_on(edge.child, now);
    go_on(edge.parent, now);
  }

  const Rehearsal& it_;
  std::span<const int> order_;
  int segments_;
  Stage stage_;
  std::vector<Vertex> vertices_;    ///< by position
  std::vector<double> departures_;  ///< by message; negative: it has not left
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> due_;
  double last_ = 0;
};

/// Up the tree: what comes from all children, then on to the parent.
class Rehearsal::Ascent {
 public:
  Ascent(const Rehearsal& it, std::span<const int> order, double share, int segments)
      : it_(it), order_(order), segments_(segments), stage_(it.distances_, share), vertices_(order.size()) {
    for (Vertex& vertex : vertices_) vertex.missing.assign(at(segments), 0);
    arrivals_.assign(order.size() * at(segments), 0);
    for (const Edge& edge : it.edges_)
      for (int& missing : vertices_[at(edge.parent)].missing) ++missing;
  }

  double run() {
    for (int position = 0; position < static_cast<int>(vertices_.size()); ++position) go_on(position, 0);
    for (;;) {
      const double due = due_.empty() ? Fluid::never : due_.begin()->first, landing = stage_.next();
      if (due == Fluid::never && landing == Fluid::never) break;
      if (due <= landing)
        send();
      else
        for (const std::size_t name : stage_.advance()) land(name, landing);
    }
    return vertices_[0].now;
  }

 private:
  struct Vertex {
    int segment = 0;                   ///< the one that is being put together
    double now = 0;                    ///< its own clock
    std::vector<int> missing;          ///< by segment: children's messages
    std::vector<std::size_t> waiting;  ///< long messages that it does not expect yet
  };

  /// All segments that are complete are passed on.
  void go_on(int position, double now) {
    Vertex& vertex = vertices_[at(position)];
    for (; vertex.segment < segments_ && vertex.missing[at(vertex.segment)] == 0; ++vertex.segment) {
      take_in(position);
      if (position > 0) due_.emplace(std::max(now, vertex.now += overhead), name_of(position, vertex.segment));
    }
    for (const std::size_t name : std::exchange(vertex.waiting, {})) due_.emplace(std::max(now, vertex.now), name);
  }

  /// What children sent, one after the other: as they lie, but a gather's root the largest subtree first.
  void take_in(int position) {
    Vertex& vertex = vertices_[at(position)];
    const int first = it_.first_edge_[at(position)], last = it_.first_edge_[at(position) + 1];
    for (int i = 0; i < last - first; ++i) {
      const bool is_largest_first = it_.layout_.is_split && position == 0;
      const Edge& edge = it_.edges_[at(is_largest_first ? first + i : last - 1 - i)];
      vertex.now = std::max(vertex.now, arrivals_[name_of(edge.child, vertex.segment)]) + overhead;
      if (!it_.layout_.is_split)
        vertex.now += sum_start + edge.bytes * (edge.bytes > most_of_near_sum ? far_sum : near_sum);
      if (position == 0) vertex.now += it_.packing(order_, edge);
    }
  }

  std::size_t name_of(int position, int segment) const { return at(position) * at(segments_) + at(segment); }
  const Edge& edge_of(std::size_t name) const { return it_.edges_[at(it_.parent_edge_[name / at(segments_)])]; }

  /// A long message waits for its receiver to come to its segment.
  void send() {
    const auto [when, name] = *due_.begin();
    due_.erase(due_.begin());
    const Edge& edge = edge_of(name);
    const int segment = static_cast<int>(name % at(segments_));
    Vertex& parent = vertices_[at(edge.parent)];
    if (edge.bytes > eager && !it_.layout_.is_split && parent.segment < segment)
      parent.waiting.push_back(name);
    else
      stage_.start(name, order_[at(edge.child)], order_[at(edge.parent)], edge.bytes, when);
  }

  void land(std::size_t name, double now) {
    const Edge& edge = edge_of(name);
    arrivals_[name] = now;
    --vertices_[at(edge.parent)].missing[name % at(segments_)];
    go_on(edge.parent, now);
  }

  const Rehearsal& it_;
  std::span<const int> order_;
  int segments_;
  Stage stage_;
  std::vector<Vertex> vertices_;            ///< by position
  std::vector<double> arrivals_;            ///< by message
  std::multimap<double, std::size_t> due_;  ///< messages by when they set out
};

/// Round a ring, one way or by turns both ways: what comes in one round goes on in a later one.
class Rehearsal::Lap {
 public:
  Lap(const Rehearsal& it, std::span<const int> order, double share, int rounds, const std::vector<double>& begin)
      : it_(it),
        order_(order),
        count_(static_cast<int>(order.size())),
        rounds_(rounds),
        at_once_(it.layout_.goes_both_ways ? 2 : 1),
        begin_(begin),
        stage_(it.distances_, share),
        vertices_(order.size()),
        arrivals_(order.size() * at(rounds), -1) {}

  double run() {
    for (int position = 0; position < count_; ++position) {
      vertices_[at(position)].now = at_once_ == 1 ? begin_[at(position)] : 0;
      send(position, 0);
      vertices_[at(position)].now = std::max(vertices_[at(position)].now, begin_[at(position)]);
      if (at_once_ == 2) send(position, 1);
      go_on(position);
    }
    for (;;) {
      const double due = due_.empty() ? Fluid::never : due_.begin()->first, landing = stage_.next();
      if (due == Fluid::never && landing == Fluid::never) break;
      if (due <= landing)
        set_out();
      else
        for (const std::size_t name : stage_.advance()) land(name, landing);
    }
    double last = 0;
    for (const Vertex& vertex : vertices_) last = std::max(last, vertex.now);
    return last;
  }

 private:
  struct Vertex {
    double now = 0;
    int round = 0;  ///< whose message it waits for
  };

  int wrap(int position) const { return (position + 2 * count_) % count_; }
  int step(int round) const { return at_once_ == 2 && round % 2 == 1 ? -1 : 1; }
  /// By receiver.
  std::size_t name_of(int position, int round) const { return at(round) * at(count_) + at(position); }

  /// Whether a position has what a round would bring from the tree before.
  bool has_from_tree(int position, int round) const {
    if (it_.layout_.shape != Shape::scatter_ring) return false;
    const int chunk = wrap(position - round - 1);
    return chunk >= position && chunk < it_.ends_[at(position)];
  }

  void send(int position, int round) {
    if (round >= rounds_ || has_from_tree(wrap(position + step(round)), round)) return;
    due_.emplace(vertices_[at(position)].now += overhead, name_of(wrap(position + step(round)), round));
  }

  void set_out() {
    const auto [when, name] = *due_.begin();
    due_.erase(due_.begin());
    const int to = static_cast<int>(name % at(count_)), from = wrap(to - step(static_cast<int>(name / at(count_))));
    stage_.start(name, order_[at(from)], order_[at(to)], static_cast<double>(it_.layout_.bytes), when);
  }

  void land(std::size_t name, double now) {
    arrivals_[name] = now;
    go_on(static_cast<int>(name % at(count_)));
  }

  void go_on(int position) {
    Vertex& vertex = vertices_[at(position)];
    for (; vertex.round < rounds_; ++vertex.round) {
      if (!has_from_tree(position, vertex.round)) {
        const double arrival = arrivals_[name_of(position, vertex.round)];
        if (arrival < 0) return;
        vertex.now = std::max(vertex.now, arrival) + overhead;
      }
      send(position, vertex.round + at_once_);
    }
  }

  const Rehearsal& it_;
  std::span<const int> order_;
  int count_, rounds_, at_once_;
  const std::vector<double>& begin_;
  Stage stage_;
  std::vector<Vertex> vertices_;            ///< by position
  std::vector<double> arrivals_;            ///< by message; negative: not yet
  std::multimap<double, std::size_t> due_;  ///< messages by when they set out
};

/// µs that copying takes where so many nodes' blocks are at hand.
double Rehearsal::copying(double bytes, std::size_t nodes) const {
  return bytes * (layout_.bytes * nodes < most_of_near_copy ? near_copy : far_copy);
}

/// What the root of a scatter or gather copies for one child's subtree that is no stretch of nodes, µs.
double Rehearsal::packing(std::span<const int> order, const Edge& edge) const {
  if (!layout_.is_split) return 0;
  const auto nodes = static_cast<int>(order.size());
  for (int position = 0; position < nodes; ++position)
    if (order[at(position)] != (layout_.root + position) % nodes) {
      const double stretches = ends_[at(edge.child)] - edge.child;  // at most
      return stretches * copy_start + copying(edge.bytes, order.size());
    }
  return 0;
}

Rehearsal::Rehearsal(const Distances& distances, const Layout& layout, std::span<const Branch> branches)
    : distances_(distances), layout_(layout), segments_(1), parent_edge_(branches.size(), -1) {
  if (layout.segment > 0 && layout.bytes > layout.segment)
    segments_ = static_cast<int>(std::min<Bytes>((layout.bytes + layout.segment - 1) / layout.segment, 1 << 20));
  for (std::size_t position = 0; position < branches.size(); ++position) {
    first_edge_.push_back(static_cast<int>(edges_.size()));
    ends_.push_back(branches[position].end);
    for (const int child : branches[position].children) {
      parent_edge_[at(child)] = static_cast<int>(edges_.size());
      const Bytes bytes = edge_bytes(layout, child, branches[at(child)].end);
      edges_.push_back({static_cast<int>(position), child, static_cast<double>(bytes)});
    }
  }
  first_edge_.push_back(static_cast<int>(edges_.size()));
}

double Rehearsal::of(std::span<const int> order, double share) const {
  if (layout_.shape == Shape::ring)
    return lap(order, share,
               std::vector<double>(order.size(), copying(static_cast<double>(layout_.bytes), order.size())));
  if (layout_.shape != Shape::scatter_ring) return tree(order, share);
  Descent scatter(*this, order, share, 1);
  scatter.run();
  std::vector<double> begin;
  for (int position = 0; position < static_cast<int>(order.size()); ++position)
    begin.push_back(scatter.is_through(position));
  return lap(order, share, begin);
}

double Rehearsal::pipeline(std::span<const int> order, double share, int segments) const {
  return layout_.goes_up ? Ascent(*this, order, share, segments).run() : Descent(*this, order, share, segments).run();
}

double Rehearsal::tree(std::span<const int> order, double share) const {
  const int most = std::max(fewest_segments, most_messages / std::max(1, static_cast<int>(edges_.size())));
  if (segments_ <= most) return pipeline(order, share, segments_);
  return go_on(pipeline(order, share, (most + 1) / 2), (most + 1) / 2, pipeline(order, share, most), most, segments_);
}

double Rehearsal::lap(std::span<const int> order, double share, const std::vector<double>& begin) const {
  const auto rounds = static_cast<int>(order.size()) - 1;
  const int most = std::max(fewest_rounds, most_messages / static_cast<int>(order.size()));
  if (rounds <= most) return Lap(*this, order, share, rounds, begin).run();
  const int half = (most + 1) / 2;
  return go_on(Lap(*this, order, share, half, begin).run(), half, Lap(*this, order, share, most, begin).run(), most,
               rounds);
}

}  // namespace espalier::trees
