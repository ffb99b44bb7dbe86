#pragma once
// How long messages between nodes take, by LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995), for the exchanges of
// src/trees and src/groups. A node's messages leave and enter through one link each, one behind the other; a connection
// may carry less than a link.

#include <algorithm>

#include "cost/parameters.hpp"

namespace espalier::cost {

class NetworkTime {
 public:
  explicit NetworkTime(const Parameters& parameters) : is_(parameters) {}

  /// What a message occupies a link for.
  double serial(double bytes) const { return std::max(is_.gap, bytes / is_.link_rate); }
  /// What it occupies its connection for.
  double carried(double bytes) const { return std::max(is_.gap, bytes / is_.connection_rate()); }
  /// What a message needs besides: both processors and the way.
  double delay() const { return is_.latency + 2 * is_.overhead; }
  double message(double bytes) const { return delay() + carried(bytes); }
  /// `count` messages through one link at once, each on a connection of its own.
  double at_once(double count, double bytes) const { return std::max(count * serial(bytes), carried(bytes)); }
  /// `count` messages into one link at once that come from as many nodes, each of which sends to as many others: some
  /// of those that meet finish early and some late, and who waits for the last one leaves its own link idle (4 emulated
  /// nodes of a rank, 3 x 64 KB each way: 10.9 ms at once, one after the other 8.5; 256 KB 43 and 35).
  double crossing(double count, double bytes) const { return (count > 1 ? 1.28 : 1) * at_once(count, bytes); }
  /// The same by one processor that starts them one behind the other, until the last has left.
  double several(double count, double bytes) const {
    return count > 0 ? std::max(count * is_.overhead, at_once(count, bytes)) : 0;
  }

 private:
  const Parameters& is_;
};

/// Rounds that reach `count` nodes when every node that has been reached reaches factor - 1 others per round. Needs
/// count >= 1, factor >= 2.
inline int rounds_of(int count, int factor = 2) {
  int rounds = 0;
  for (long long reached = 1; reached < count; reached *= factor) ++rounds;
  return rounds;
}

/// The longest way in a k-nomial tree of `count` vertices, in hops: the most digits other than zero, to the base of
/// `factor`, of a number below `count`.
inline int depth_of(int count, int factor = 2) {
  int digits = 0;
  for (long long ones = 1; ones < count; ones = ones * factor + 1) ++digits;  // the least number of so many such digits
  return digits;
}

}  // namespace espalier::cost
