#pragma once
// The time of a plan on a machine, from its steps alone: nothing runs.

#include <vector>

#include "cost/parameters.hpp"
#include "cost/play.hpp"
#include "plan/program.hpp"

namespace espalier::cost {

struct Estimate {
  /// From the common start to the last rank's end, in microseconds.
  double total = 0;
  /// When each rank ends.
  std::vector<double> ends;
};

/// Plays the plan through (play.hpp) over a LogGP network: messages of a node leave and enter through one link each,
/// one behind the other, no faster than the ways of the topology's distances where they are known; a connection carries
/// no more than `flow_rate`; what messages share between the links is not modelled. The plan must be correct (verify).
/// O(steps log ranks).
Estimate estimate_time(const plan::Plan& plan, const Parameters& parameters = {});

/// A message on its way between two points in time (microseconds).
struct Flight {
  Rank from, to;
  Bytes bytes;
  double set_out;
  double arrival;
};

/// All that happened in a play.
struct Record {
  double total = 0;
  std::vector<Span> spans;      ///< every step of every rank, in the order of their ends
  std::vector<Flight> flights;  ///< every message, in the order of arrival
};

/// The same play, kept: what pictures are drawn from. O(steps log ranks), and as much memory.
Record record_play(const plan::Plan& plan, const Parameters& parameters = {});

}  // namespace espalier::cost
