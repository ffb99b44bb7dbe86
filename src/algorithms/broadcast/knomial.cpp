// Broadcast along a k-nomial tree of nodes (picture in tree.cpp).

#include <algorithm>

#include "algorithms/broadcast/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::broadcast_knomial {
namespace {

double price(const Scene& s) {
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const int children = std::min(s.nodes, s.choice.radix) - 1;  // in one round
  const double message = s.network.message(s.segment());
  const double way = rounds * (message + s.network.several(children - 1, s.segment()));
  return price_broadcast(s, way, std::min(s.nodes - 1, rounds * children));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "knomial",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2004, section 4 (binomial: radix 2)",
    .summary =
        "k-nomial tree of N nodes, ceil(log_k N) rounds; the root sends the message up to (k - 1) ceil(log_k N) times",
    .knobs = "radix segment within cell cells stores levels leaders order",
    .build = build_broadcast,
    .propose = vary_knobs,
    .shape = trees::Shape::knomial,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_knomial
