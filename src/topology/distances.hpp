#pragma once
// How far the nodes of a communicator are from each other on the network: the delay matrix of Subramoni et al. (Design
// and evaluation of network topology-/speed-aware broadcast algorithms for InfiniBand clusters, IV-B), kept small.

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "topology/cables.hpp"

namespace espalier::topology {

/// What one message pays for its way through the network. Zeros: nothing is known, nobody is preferred.
struct Way {
  float latency = 0;   ///< µs, of a message without bytes
  float per_byte = 0;  ///< µs: the inverse of the slowest link's rate

  double delay(Bytes bytes) const { return latency + static_cast<double>(bytes) * per_byte; }
  bool operator==(const Way&) const = default;
};

/// The cables that the nodes of one leaf switch share on their way to all others, and that may carry less than those
/// nodes could send: the trunks of an oversubscribed tree.
struct Trunks {
  std::vector<int> leaf_of;     ///< by node: its leaf, from 0
  std::vector<float> per_byte;  ///< by leaf: µs, of all its cables together in each direction; 0: not known, never full

  bool operator==(const Trunks&) const = default;
};

/// Ways between all pairs of nodes. Nodes that are equally far from everybody else form a class (those at one leaf
/// switch, with adapters of one speed); what is kept is one way per pair of classes, so that 1024 nodes on 64 leaves
/// take 4096 ways. An immutable value, equal on all ranks.
class Distances {
 public:
  /// Of any number of nodes: nothing is known.
  Distances() = default;

  /// `ways` holds classes x classes, row by row, from class to class; on the diagonal the way between two nodes of the
  /// class. Throws Error when a node's class has no row or the rows are no square.
  static Distances from_classes(std::vector<int> class_of, std::vector<Way> ways);

  /// Finds the classes of a matrix of nodes x nodes, row by row; what a node is from itself does not count. Exact: no
  /// way changes. At worst every node is its own class. Throws Error when the matrix has another size.
  static Distances from_matrix(int nodes, std::span<const Way> matrix);

  /// Where no service knows the network: of each node what its NIC carries, in Mbit/s (0: not known, which never counts
  /// as slow). A way is as fast as the slower of its two NICs (the paper's IV-B2).
  static Distances from_rates(std::span<const std::uint64_t> mbits);

  /// The same with what nodes share. Throws Error unless every node has a leaf among them; no leaves at all: none
  /// known.
  Distances with_trunks(Trunks trunks) const;

  /// The same with the cables that routes take, from each of the trunks' leaves to each node. Throws Error when that is
  /// not what there is; no cables at all: routes are not known. More than Cables::most_routes are not kept.
  Distances with_cables(Cables cables) const;

  /// Those between some of the nodes, in this order; without the classes and leaves that none of them is in, and the
  /// cables that none of their routes takes.
  Distances between(std::span<const int> nodes) const;

  /// All nodes are equally far apart, or nothing is known: no order of them is better than another.
  bool is_neutral() const { return classes_ <= 1; }
  int nodes() const { return static_cast<int>(class_of_.size()); }
  int classes() const { return classes_; }
  int class_of(NodeId node) const { return class_of_[static_cast<std::size_t>(node.value)]; }
  const Way& between_classes(int from, int to) const { return ways_[static_cast<std::size_t>(from * classes_ + to)]; }
  /// From one node to another one. Nothing when nothing is known, and to itself.
  Way way(NodeId from, NodeId to) const {
    return classes_ == 0 || from == to ? Way{} : between_classes(class_of(from), class_of(to));
  }

  /// The best rate of a class to anybody: that of its nodes' own links, as µs per byte; 0: not known.
  float own_per_byte(int of_class) const { return facts_[static_cast<std::size_t>(of_class)].own_per_byte; }
  /// How far a node of the class is from all nodes together, for messages of `bytes`. Rounded, so that what is equally
  /// remote is equal whatever the classes' numbers.
  float remoteness(int of_class, Bytes bytes) const {
    const Facts& known = facts_[static_cast<std::size_t>(of_class)];
    return static_cast<float>(known.latencies + static_cast<double>(bytes) * known.per_bytes);
  }
  /// The mean over all pairs of nodes, and the most of any pair: latency and rate apart. Nothing when nothing is known.
  const Way& typical() const { return typical_; }
  const Way& worst() const { return worst_; }

  /// What a byte takes when all nodes send one to other leaves at once, on the trunk that is busiest then, µs; 0: not
  /// known, or all are on one leaf.
  float crowded_per_byte() const { return crowded_; }

  /// What nodes share: nothing, or a leaf for each node.
  const Trunks& trunks() const { return trunks_; }

  /// The cables that messages meet on; empty where routes are not known.
  const Cables& cables() const { return cables_; }

  /// For sending them to other ranks, as from_classes takes them.
  const std::vector<int>& class_of() const { return class_of_; }
  const std::vector<Way>& ways() const { return ways_; }

  bool operator==(const Distances&) const = default;

 private:
  /// What follows from the ways of one class; derived once, since every order of nodes asks for it.
  struct Facts {
    double latencies = 0, per_bytes = 0;  ///< summed up over the ways to all nodes
    float own_per_byte = 0;
    bool operator==(const Facts&) const = default;
  };

  void derive_facts();

  int classes_ = 0;
  std::vector<int> class_of_;  ///< by node
  std::vector<Way> ways_;      ///< classes x classes
  Trunks trunks_;
  Cables cables_;
  std::vector<Facts> facts_;  ///< by class
  Way typical_, worst_;
  float crowded_ = 0;
};

}  // namespace espalier::topology
