#pragma once
// How far the nodes of a communicator are from each other on the network: the delay matrix of Subramoni et al. (Design
// and evaluation of network topology-/speed-aware broadcast algorithms for InfiniBand clusters, IV-B), kept small.

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace espalier::topology {

/// What one message pays for its way through the network. Zeros: nothing is known, nobody is preferred.
struct Way {
  float latency = 0;   ///< µs, of a message without bytes
  float per_byte = 0;  ///< µs: the inverse of the slowest link's rate

  double delay(Bytes bytes) const { return latency + static_cast<double>(bytes) * per_byte; }
  bool operator==(const Way&) const = default;
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

  /// Those between some of the nodes, in this order; without the classes that none of them is in.
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

  /// For sending them to other ranks, as from_classes takes them.
  const std::vector<int>& class_of() const { return class_of_; }
  const std::vector<Way>& ways() const { return ways_; }

  bool operator==(const Distances&) const = default;

 private:
  int classes_ = 0;
  std::vector<int> class_of_;  ///< by node
  std::vector<Way> ways_;      ///< classes x classes
};

}  // namespace espalier::topology
