// What allgathers take whose leaders pass on all they have.

#include <algorithm>

#include "algorithms/allgather/leaders.hpp"
#include "algorithms/parts/node_order.hpp"
#include "algorithms/words.hpp"

namespace espalier::algorithms {

using plan::Within;

namespace {

/// An allgather's leader has `bytes` that are in the order of ranks, or in so many runs of another order: rank by rank
/// where nodes' blocks do not follow each other, node by node where far ones come first.
double runs_of(const Scene& s, double bytes) {
  const double run = s.is_blocked ? s.of_node() : s.bytes;
  return !s.is_blocked || goes_far_first(s.choice) ? std::max(1.0, bytes / run) : 1;
}

/// What it copies of them into its own result, and what others take longer for taking them run by run.
double own_copy(const Scene& s, double bytes) {
  const bool is_apart = !s.is_blocked || goes_far_first(s.choice);
  return is_apart ? runs_of(s, bytes) * s.node.copy(bytes / runs_of(s, bytes)) : 0;
}

double taking_apart(const Scene& s, double bytes) {
  const bool is_single_copy = s.choice.within == Within::single_copy;
  const double one = is_single_copy ? s.is.single_copy.fixed + (s.on_node - 2) * s.is.together : s.is.get.fixed;
  return s.on_node == 1 ? 0 : (runs_of(s, bytes) - 1) * (one + s.is.step);
}

/// Rounds of doubling or of Bruck; what has come is spread while the next is on its way.
double rounds_time(const Scene& s, const NodeData& data, bool is_doubling) {
  const auto round = [&](int distance, int sent, int passed) {
    const double wire = s.message_to(distance, data.of(sent, s.nodes)), come = data.of(passed, s.nodes);
    const double own = s.is.overhead + own_copy(s, come);
    if (is_spread_at_end(s.choice)) return std::max(wire, own) + s.handing_over;
    const double reader = s.node.spread_reader(come) + taking_apart(s, come);
    return std::max({wire, own + s.node.spread_writer(come), reader}) + s.handing_over;
  };
  const int rest = s.nodes - (1 << (cost::rounds_of(s.nodes + 1) - 1));  // beyond the last power of two
  const int reached = is_doubling ? s.nodes - rest : s.nodes;
  double time = 0;
  int passed = 1;
  for (int has = 1; has < reached; has *= 2) {
    const int sent = std::min(has, reached - has);
    time += round(goes_far_first(s.choice) ? reached / (2 * has) : has, sent, passed);
    passed = sent;
  }
  if (is_doubling && rest > 0) time += round(0, 1, 1) + round(0, s.nodes, passed), passed = s.nodes - 1;
  const double last = data.of(passed, s.nodes);
  if (is_spread_at_end(s.choice)) return time + own_copy(s, last) + s.node.spread(data.all);
  return time + std::max(s.node.spread(last) + taking_apart(s, last), s.node.spread_writer(last) + own_copy(s, last));
}

}  // namespace

double price_beginning(const Scene& s) {
  // A rank that is alone on its node sends its block first and copies it meanwhile.
  const double hidden = s.on_node == 1 && !goes_far_first(s.choice) ? s.network.message(s.bytes) : 0;
  return std::max(0.0, s.node.collect(s.bytes) - hidden);
}

double price_doubling(const Scene& s, bool is_doubling) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  return price_beginning(s) + rounds_time(s, node_data(s), is_doubling);
}

}  // namespace espalier::algorithms
