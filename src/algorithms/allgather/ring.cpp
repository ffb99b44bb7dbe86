// Allgather round a ring of leaders (picture in leaders.cpp).

#include <algorithm>
#include <cmath>

#include "algorithms/allgather/leaders.hpp"
#include "algorithms/row.hpp"
#include "groups/rounds.hpp"

namespace espalier::algorithms::allgather_ring {
namespace {

/// Round a ring both ways: of two rounds the next ones need a message each. Those to the right and to the left go by
/// turns, so that one has its leader's links for itself unless they are busy all the time; in between it is spread what
/// came the other way.
double two_way_ring_time(const Scene& s) {
  const int rounds = s.nodes - 1;
  const double turn = s.network.message(s.of_node()) + s.node.spread_writer(s.of_node());
  const double both = std::max(turn, s.network.at_once(2, s.of_node())) + 2 * s.handing_over;
  const double last = s.network.message(s.of_node()) + s.handing_over;
  const double speaker = s.is.overhead + s.node.spread_writer(s.of_node());
  const double pace = std::max(speaker, s.node.spread_reader(s.of_node()));
  return std::max(rounds / 2 * both + rounds % 2 * last, last + (rounds - 1) * pace) + s.node.spread(s.of_node());
}

/// Round a ring. Whole messages go in step with the longest; of segments every link carries all but what its far end
/// has, one behind the other.
double ring_time(const Scene& s, const NodeData& data) {
  const bool is_two_way = s.nodes >= groups::two_way_nodes;
  const auto busy = [&](double bytes) {
    return std::max(s.is.overhead + s.node.spread_writer(bytes), s.node.spread_reader(bytes));
  };
  const auto hop = [&](double bytes) { return std::max(s.network.message(bytes), busy(bytes)) + s.handing_over; };
  if (s.choice.segment == 0)
    return is_two_way ? two_way_ring_time(s) : (s.nodes - 1) * hop(data.most) + s.node.spread(data.most);
  const double piece = data.most / std::ceil(data.most / static_cast<double>(s.choice.segment));
  const double link = std::max(s.network.carried(piece), 2 * s.is.overhead) + s.handing_over;
  const double links = (data.all - data.least) / piece * link + s.network.delay();
  const double nodes = data.all / piece * (busy(piece) + s.handing_over);
  const int hops = is_two_way ? s.nodes / 2 : s.nodes - 1;
  return std::max({links, nodes, hops * hop(piece)}) + s.node.spread(piece);
}

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  return price_beginning(s) + ring_time(s, node_data(s)) + reorder_time(s, s.ranks);
}

/// Equal blocks keep in step by themselves: segments only where they differ.
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  if (candidates.problem().counts.empty()) return candidates.add(choice);
  vary_knobs(candidates, algorithm, choice);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "ring",
    .place = 1,
    .source = "after Qian, Rashti, Afsahi 2008, section 4 (single group; theirs has a single connection)",
    .summary =
        "leaders pass on one node's data per round, N - 1 rounds; from 8 nodes on to the right and to the left in "
        "turn, two rounds under way at once; every leader sends (N - 1)/N of the result; in segments, however uneven, "
        "without a pause",
    .knobs = "segment within cell cells stores leaders order",
    .build = build_allgather,
    .propose = propose,
    .shape = trees::Shape::ring,
    .way = along_ring,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::allgather_ring
