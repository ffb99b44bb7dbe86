// Broadcast along a binary tree of nodes (picture in tree.cpp).

#include <algorithm>
#include <limits>

#include "algorithms/broadcast/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::broadcast_binary {
namespace {

/// When the last vertex of a binary tree has the first segment: of trees of `count` vertices and of one more. A child's
/// subtree has half of the vertices below its parent, the first child's the larger half.
struct BinaryWays {
  double count, one_more;
};

BinaryWays binary_ways(int count, double message, double serial) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (count == 0) return {none, 0};
  const BinaryWays half = binary_ways((count - 1) / 2, message, serial);
  const auto from = [&](double first, double second) {
    return std::max({0.0, message + first, message + serial + second});
  };
  return count % 2 == 1 ? BinaryWays{from(half.count, half.count), from(half.one_more, half.count)}
                        : BinaryWays{from(half.one_more, half.count), from(half.one_more, half.one_more)};
}

double price(const Scene& s) {
  const double segment = s.segment();
  const double way = binary_ways(s.nodes, s.network.message(segment), s.network.several(1, segment)).count;
  return price_broadcast(s, way, std::min(2, s.nodes - 1));
}

/// For many nodes whose leaders pass every segment on through cells: that keeps the next one back until the last has
/// left. Otherwise all segments are under way at once, and where messages share a link none is early (64 nodes, 1 MB,
/// segments of 16K, simulated: 270 us, by single copy or with a rank per node 590).
void propose(Candidates& candidates, const Algorithm&, Choice choice) {
  const topology::Topology& topology = candidates.topology();
  if (topology.nodes() >= many_nodes && topology.largest_node() > 1)
    candidates.vary_segment(choice, &Candidates::add_cells);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "binary",
    .place = 3,
    .source = "Subramoni et al.; Sanders, Speck, Träff 2009, section 2",
    .summary =
        "each of N nodes hands segments to two others, about 2 log2 N + 2 segments rounds; no leader sends the message "
        "more than twice",
    .knobs = "segment within cell cells stores levels leaders order",
    .build = build_broadcast,
    .propose = propose,
    .shape = trees::Shape::binary,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_binary
