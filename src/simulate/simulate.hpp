#pragma once
// A plan on a simulated network: messages share links as SimGrid's fluid model lets them, by our own solver or by
// SimGrid; all else is played as cost::Play does. What the cost model estimates in microseconds is checked here.

#include "cost/play.hpp"
#include "simulate/network.hpp"

namespace espalier::simulate {

struct Options {
  /// The host that each node is (placement.hpp); empty: node n is host n. No host twice.
  std::vector<int> host_of_node = {};
  /// Bytes per microsecond that one connection carries at most, however idle the links; 0: no such bound. (One queue
  /// pair or TCP stream often cannot fill a NIC: Qian, Rashti, Afsahi, section 4.)
  double connection_rate = 0;
  /// SimGrid shares out everything anew at every event. Slow; but its shortcut, which looks only at what has to do with
  /// the event, is wrong now and then: by half a percent in one of 129 plans (tests/simulation/golden.json), a ring.
  bool shares_anew = false;
  bool keeps_spans = false;
  bool keeps_flights = false;
};

/// One message on its way.
struct Flight {
  Rank from, to;
  Bytes bytes;
  double set_out, arrival;
};

/// Times in microseconds from the common start.
struct Result {
  double total = 0;                ///< the last rank's end
  std::vector<double> ends;        ///< by rank
  std::vector<double> link_bytes;  ///< by link of the network: what crossed it
  std::vector<cost::Span> spans;   ///< if kept: every step of every rank, in the order of their ends
  std::vector<Flight> flights;     ///< if kept: in the order of arrival
  std::size_t messages = 0;
};

/// Deterministic, as often as one likes. Our own solver (fluid.hpp) shares the links. Of `parameters`, latency and
/// link_rate are the network's instead; every message counts for at least `gap` on its sender's adapter. Throws Error
/// when hosts are too few, named twice or unknown, or when the plan does not come to its end.
Result simulate_fluid(const plan::Plan& plan, const Network& network, const cost::Parameters& parameters,
                      const Options& options = {});

/// The same by SimGrid: times agree to about one part in 10 000, and many thousands of messages take minutes. Once per
/// process, since SimGrid allows one engine. Throws Error with the remedy where this was built without SimGrid.
Result simulate_simgrid(const plan::Plan& plan, const Network& network, const cost::Parameters& parameters,
                        const Options& options = {});

/// Whether this was built with SimGrid.
bool has_simgrid();

}  // namespace espalier::simulate
