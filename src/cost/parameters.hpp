#pragma once
// What things cost on a machine. Times in microseconds, rates in bytes per microsecond (1000 = 1 GB/s).

#include <algorithm>
#include <limits>

#include "plan/problem.hpp"
#include "topology/distances.hpp"
#include "topology/topology.hpp"

namespace espalier::cost {

/// A fixed part and a part per byte.
struct Line {
  double fixed = 0;
  double rate = 1;

  double of(double bytes) const { return bytes > 0 ? fixed + bytes / rate : 0; }
};

/// How much of one rank's data a level of the memory hierarchy holds, and how fast anything moves once it does not.
struct Cache {
  double bytes = 0;
  double rate_beyond = 1;
};

/// One node's memory and processors, and one network: LogGP (Alexandrov et al. 1995) for messages between nodes, a
/// fixed and a per-byte cost for each kind of copy, one cache line's way for flags. The defaults are those of a current
/// x86 server on a fast network, measured where a number says so and rounded; a table brings those that `espalier tune`
/// measured (tune/table.hpp).
struct Parameters {
  /// A flag's way from one core's cache to another's (two cores of one socket: 0.19 us
  /// when nothing else moves, half as much again behind data).
  double flag = 0.3;
  /// What a step costs by itself in the interpreter (callgrind: 25 to 60 instructions).
  double step = 0.01;
  /// Writing cells that readers have in their caches, and reading cells that another core has written.
  Line put{0.2, 11400};
  Line get{0.15, 12400};
  /// The same by two ranks that have a node and two near cores to themselves, so that the reader takes the lines over
  /// (execute/closeness.hpp; 16 KB 0.5 + 0.6 us on Zen 3). Far ones take 0.4 + 1.9 us, and single copies longer as
  /// well; where hand-over is slow all are far (16 KB on an Emerald Rapids Xeon 1.5 + 2.1 us: docs/adr/0038).
  Line put_of_two{0.1, 32000};
  Line get_of_two{0.1, 30000};
  /// Private memory to private memory, in the second-level cache.
  Line copy{0.02, 25000};
  /// Combining two operands in the second-level cache; a neighbour's cell is read no faster than by `get`.
  Line reduce{0.05, 34000};
  /// Through the kernel (process_vm_readv, two cores of one socket).
  Line single_copy{0.45, 17000};
  /// What it takes longer for each neighbour that copies out of or into the same rank at the same time, and if that
  /// rank is in the kernel itself (4 KB: 2.3 us where both copy, 1.5 us where one does).
  double together = 0.35;
  /// From the innermost level that counts on: a second-level cache of 2 MiB, shared by the buffers of successive calls,
  /// and a last-level one of 32 MiB.
  Cache caches[2] = {{512 << 10, 11000}, {32 << 20, 5000}};
  /// LogGP: latency, processor's overhead at each end, least gap between messages of one node, and bytes per time.
  double latency = 1.5;
  double overhead = 0.4;
  double gap = 0.2;
  double link_rate = 10000;
  /// What one connection (from one rank to another) carries, however idle the link: one TCP stream or queue pair often
  /// fills no adapter (Qian, Rashti, Afsahi 2008, section 4). No bound of its own unless measured.
  double flow_rate = std::numeric_limits<double>::infinity();
  /// Messages up to so many bytes are taken from their sender at once; for longer ones both sides must be ready.
  double eager = 64 << 10;
  /// Cores that the ranks of a node share, where they are fewer than ranks and nobody knows better
  /// (topology::Capabilities::shared_cores); and what handing one over costs (a yield).
  int cores = 2;
  double yield = 1.0;

  /// What a connection reaches that has the link to itself.
  double connection_rate() const { return std::min(link_rate, flow_rate); }
  /// The same where a rank's buffers have so many bytes together: no rate above that of the level that holds them.
  Parameters with_data_of(double bytes) const;
  /// As ranks meet them whose buffers have so many bytes together. `are_two_near`: are_two_near(topology).
  Parameters met_by(double bytes, bool are_two_near) const;
  /// And, where they share cores, with as many as these are.
  Parameters met_by(const topology::Topology& topology, const plan::Problem& problem) const;

  /// The same for messages that go this way: no sooner and no faster than it lets them.
  Parameters with_way(const topology::Way& way) const;
};

/// Whether these are two ranks that have a node, and a core each, to themselves, and near cores.
bool are_two_near(const topology::Topology& topology);

/// Both buffers of the rank that has most, when all blocks are of `problem.bytes`.
double bytes_of_a_rank(const plan::Problem& problem, int ranks);

}  // namespace espalier::cost
