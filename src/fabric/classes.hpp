#pragma once
// Delays between classes of hosts: what a job asks a topology service for. 1024 hosts on 64 switches are 64 classes and
// four different ways, not a million numbers.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/delays.hpp"

namespace espalier::fabric {

/// Latency and speed between all pairs of a list of hosts. Hosts of one class are as far from everybody else, and from
/// each other, as any other of them.
struct ClassDelays {
  struct Way {
    double latency = 0;   ///< µs, of a small message; infinite without a route
    double per_byte = 0;  ///< µs: the inverse of the slowest link's rate; 0: no rate is known
    bool operator==(const Way&) const = default;
  };

  std::size_t classes = 0;
  std::vector<int> class_of;   ///< by host, from 0 in the order in which the classes first occur
  std::vector<int> switch_of;  ///< by class, from 0: its first switch, which may have several classes
  /// By class, µs: the inverse of what all cables from that switch to others carry together in each direction; 0: not
  /// known, or no such cables.
  std::vector<double> trunk;
  std::vector<Way> ways;  ///< all different
  /// classes x classes indices into `ways`, row by row; on the diagonal the way between two hosts of the class, of one
  /// host alone any.
  std::vector<int> between;

  const Way& way(std::size_t from_class, std::size_t to_class) const {
    return ways[static_cast<std::size_t>(between[from_class * classes + to_class])];
  }
  bool operator==(const ClassDelays&) const = default;
};

/// Exact: every way is as Delays says, but for hosts that are one adapter, which count as two. O(hosts + classes^2).
ClassDelays derive_class_delays(const Delays& delays, const LatencyTable& latency);

/// The reply to `classes` (docs/reference/protocol.md), whole lines.
void append_classes(const ClassDelays& delays, std::string& reply);

/// Reads it back, line by line. Throws Error for what is no such reply, and as soon as it is none.
class ClassReader {
 public:
  /// For a list of so many hosts.
  explicit ClassReader(std::size_t hosts) : hosts_(hosts) {}

  /// False after the last line.
  bool take_line(std::string_view line);
  ClassDelays take() { return std::move(delays_); }

 private:
  void take_head(std::string_view line);
  void take_way_or_row(std::string_view line);

  std::size_t hosts_;
  std::size_t ways_ = 0;
  std::size_t lines_ = 0;  ///< taken so far
  ClassDelays delays_;
};

}  // namespace espalier::fabric
