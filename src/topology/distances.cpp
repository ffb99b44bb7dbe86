#include "topology/distances.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace espalier::topology {
namespace {

// 1 Mbit/s is 1/8 byte per µs.
constexpr float microseconds_per_byte(std::uint64_t mbits) {
  return mbits == 0 ? 0.0F : 8.0F / static_cast<float>(mbits);
}

// Sorts nodes into classes: each one joins a class whose first member it could change places with.
class Classes {
 public:
  Classes(int nodes, std::span<const Way> matrix) : nodes_(nodes), matrix_(matrix), back_(matrix.size()) {
    constexpr int tile = 32;  // turned in tiles: 1024 nodes then take 5 ms instead of 70, since reads stay in the cache
    for (int rows = 0; rows < nodes; rows += tile)
      for (int columns = 0; columns < nodes; columns += tile)
        for (int from = rows; from < std::min(rows + tile, nodes); ++from)
          for (int to = columns; to < std::min(columns + tile, nodes); ++to) back_[index(to, from)] = at(from, to);
  }

  Distances derive() {
    for (int node = 0; node < nodes_; ++node) class_of_.push_back(find_or_add(node));
    const std::size_t count = first_.size();
    std::vector<Way> ways(count * count);
    for (std::size_t from = 0; from < count; ++from)
      for (std::size_t to = 0; to < count; ++to)
        ways[from * count + to] = from == to ? inside_[from] : at(first_[from], first_[to]);
    return Distances::from_classes(std::move(class_of_), std::move(ways));
  }

 private:
  std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * nodes_ + to); }
  const Way& at(int from, int to) const { return matrix_[index(from, to)]; }
  // The ways towards a node lie side by side as well.
  const Way& to_from(int to, int from) const { return back_[index(to, from)]; }

  // Members of a class are nowhere nearer than to each other on real networks, so only the nearest classes are tried:
  // where that is wrong there are more classes than need be, and every way is right still.
  int find_or_add(int node) {
    float nearest = std::numeric_limits<float>::infinity();
    for (const int first : first_) nearest = std::min(nearest, at(node, first).latency);
    for (std::size_t known = 0; known < first_.size(); ++known)
      if (at(node, first_[known]).latency == nearest && is_like(node, known)) return static_cast<int>(known);
    first_.push_back(node);
    inside_.push_back({});
    is_alone_.push_back(true);
    return static_cast<int>(first_.size()) - 1;
  }

  // Whether `node` fits into the class, which it then is a member of.
  bool is_like(int node, std::size_t known) {
    const int first = first_[known];
    const Way& way = at(node, first);
    if (way != at(first, node) || (!is_alone_[known] && way != inside_[known])) return false;
    for (int other = 0; other < nodes_; ++other) {
      if (other == node || other == first) continue;
      if (at(node, other) != at(first, other) || to_from(node, other) != to_from(first, other)) return false;
    }
    inside_[known] = way;
    is_alone_[known] = false;
    return true;
  }

  int nodes_;
  std::span<const Way> matrix_;
  std::vector<Way> back_;  ///< the matrix turned
  std::vector<int> class_of_;
  std::vector<int> first_;      ///< of each class
  std::vector<Way> inside_;     ///< between two members
  std::vector<bool> is_alone_;  ///< the first member is the only one so far
};

}  // namespace

Distances Distances::from_classes(std::vector<int> class_of, std::vector<Way> ways) {
  Distances distances;
  while (static_cast<std::size_t>(distances.classes_) * static_cast<std::size_t>(distances.classes_) < ways.size())
    ++distances.classes_;
  const int classes = distances.classes_;
  if (static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes) != ways.size())
    throw Error(std::to_string(ways.size()) + " ways are no square of classes");
  for (const int c : class_of)
    if (c < 0 || c >= classes)
      throw Error("a node is in class " + std::to_string(c) + " of " + std::to_string(classes));
  distances.class_of_ = std::move(class_of);
  distances.ways_ = std::move(ways);
  distances.derive_facts();
  return distances;
}

void Distances::derive_facts() {
  std::vector<double> members(static_cast<std::size_t>(classes_));
  for (const int c : class_of_) ++members[static_cast<std::size_t>(c)];
  facts_.resize(members.size());
  double pairs = 0, latencies = 0, per_bytes = 0;
  for (int from = 0; from < classes_; ++from) {
    Facts& known = facts_[static_cast<std::size_t>(from)];
    const double senders = members[static_cast<std::size_t>(from)];
    for (int to = 0; to < classes_; ++to) {
      const Way& way = between_classes(from, to);
      const double receivers = members[static_cast<std::size_t>(to)];
      known.latencies += receivers * way.latency;
      known.per_bytes += receivers * way.per_byte;
      if (way.per_byte > 0 && (known.own_per_byte == 0 || way.per_byte < known.own_per_byte))
        known.own_per_byte = way.per_byte;
      const double count = senders * (from == to ? receivers - 1 : receivers);
      if (count <= 0) continue;
      pairs += count;
      latencies += count * way.latency;
      per_bytes += count * way.per_byte;
      worst_ = {std::max(worst_.latency, way.latency), std::max(worst_.per_byte, way.per_byte)};
    }
  }
  if (pairs > 0) typical_ = {static_cast<float>(latencies / pairs), static_cast<float>(per_bytes / pairs)};
}

Distances Distances::with_trunks(Trunks trunks) const {
  const int leaves = static_cast<int>(trunks.per_byte.size());
  const bool is_complete = trunks.leaf_of.size() == (leaves == 0 ? 0 : class_of_.size());
  const auto is_leaf = [leaves](int leaf) { return leaf >= 0 && leaf < leaves; };
  if (!is_complete || !std::all_of(trunks.leaf_of.begin(), trunks.leaf_of.end(), is_leaf))
    throw Error("a node has none of " + std::to_string(leaves) + " leaves");
  std::vector<int> members(trunks.per_byte.size());
  for (const int leaf : trunks.leaf_of) ++members[static_cast<std::size_t>(leaf)];
  Distances distances = *this;
  distances.crowded_ = 0;
  for (std::size_t leaf = 0; leaf < members.size(); ++leaf)
    if (members[leaf] < nodes())
      distances.crowded_ = std::max(distances.crowded_, static_cast<float>(members[leaf]) * trunks.per_byte[leaf]);
  distances.trunks_ = std::move(trunks);
  return distances;
}

Distances Distances::with_cables(Cables cables) const {
  Distances distances = *this;
  distances.cables_ = {};
  if (cables.empty()) return distances;
  const std::size_t routes = cables.begin.size() - 1;
  const auto count = static_cast<int>(cables.per_byte.size());
  const bool fits =
      routes == trunks_.per_byte.size() * class_of_.size() && cables.begin.front() == 0 &&
      std::is_sorted(cables.begin.begin(), cables.begin.end()) &&
      cables.begin.back() == static_cast<int>(cables.taken.size()) &&
      std::all_of(cables.taken.begin(), cables.taken.end(), [count](int it) { return it >= 0 && it < count; });
  if (!fits) throw Error("the cables are not those between these nodes");
  if (routes <= Cables::most_routes) distances.cables_ = std::move(cables);
  return distances;
}

Distances Distances::from_matrix(int nodes, std::span<const Way> matrix) {
  if (nodes < 0 || matrix.size() != static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes))
    throw Error("a matrix of " + std::to_string(matrix.size()) + " ways for " + std::to_string(nodes) + " nodes");
  return Classes(nodes, matrix).derive();
}

Distances Distances::from_rates(std::span<const std::uint64_t> mbits) {
  std::vector<std::uint64_t> rates(mbits.begin(), mbits.end());
  std::sort(rates.begin(), rates.end());
  rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
  std::vector<int> class_of;
  for (const std::uint64_t rate : mbits)
    class_of.push_back(static_cast<int>(std::lower_bound(rates.begin(), rates.end(), rate) - rates.begin()));
  std::vector<Way> ways;
  for (const std::uint64_t from : rates)
    for (const std::uint64_t to : rates)
      ways.push_back({0, std::max(microseconds_per_byte(from), microseconds_per_byte(to))});
  return from_classes(std::move(class_of), std::move(ways));
}

namespace {

/// Numbers what occurs in the order in which it does.
class Renumbering {
 public:
  int operator()(int old) {
    const auto known = std::find(kept.begin(), kept.end(), old);
    if (known != kept.end()) return static_cast<int>(known - kept.begin());
    kept.push_back(old);
    return static_cast<int>(kept.size()) - 1;
  }

  std::vector<int> kept;  ///< old numbers by new ones
};

/// Those of the routes between some leaves and some nodes.
Cables cables_between(const Cables& all, int all_nodes, std::span<const int> leaves, std::span<const int> nodes) {
  Cables some;
  if (all.empty()) return some;
  std::vector<int> number(all.per_byte.size(), -1);
  for (const int leaf : leaves)
    for (const int node : nodes) {
      some.begin.push_back(static_cast<int>(some.taken.size()));
      for (const int cable : all.route(leaf, node, all_nodes)) {
        int& known = number[static_cast<std::size_t>(cable)];
        if (known < 0) {
          known = static_cast<int>(some.per_byte.size());
          some.per_byte.push_back(all.per_byte[static_cast<std::size_t>(cable)]);
        }
        some.taken.push_back(known);
      }
    }
  some.begin.push_back(static_cast<int>(some.taken.size()));
  return some;
}

}  // namespace

Distances Distances::between(std::span<const int> nodes) const {
  if (classes_ == 0) return {};
  Renumbering classes, leaves;
  std::vector<int> class_of;
  Trunks trunks;
  for (const int node : nodes) {
    class_of.push_back(classes(this->class_of(NodeId(node))));
    if (!trunks_.leaf_of.empty()) trunks.leaf_of.push_back(leaves(trunks_.leaf_of[static_cast<std::size_t>(node)]));
  }
  for (const int leaf : leaves.kept) trunks.per_byte.push_back(trunks_.per_byte[static_cast<std::size_t>(leaf)]);
  std::vector<Way> ways;
  for (const int from : classes.kept)
    for (const int to : classes.kept) ways.push_back(between_classes(from, to));
  return from_classes(std::move(class_of), std::move(ways))
      .with_trunks(std::move(trunks))
      .with_cables(cables_between(cables_, this->nodes(), leaves.kept, nodes));
}

}  // namespace espalier::topology
