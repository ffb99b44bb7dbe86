// Reduce along a k-nomial tree of leaders (picture in tree.cpp).

#include <algorithm>

#include "algorithms/reduce/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::reduce_knomial {
namespace {

double price(const Scene& s) {
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix), in_round = std::min(s.nodes, s.choice.radix) - 1;
  return price_reduce(s, {.rounds = rounds,
                          .hops = cost::depth_of(s.nodes, s.choice.radix),
                          .in_round = in_round,
                          .children = std::min(s.nodes - 1, rounds * in_round)});
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce,
    .between = "knomial",
    .place = 1,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .summary =
        "nodes combine, then a k-nomial tree of N leaders in node order, ceil(log_k N) rounds; every leader sends the "
        "vector once, one more message unless operands may change places",
    .knobs = "radix segment within cell cells levels leaders order",
    .build = build_reduce,
    .limits = limits_of_reduce,
    .propose = vary_knobs,
    .shape = trees::Shape::knomial,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::reduce_knomial
