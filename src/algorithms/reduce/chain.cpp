// Reduce along a chain of leaders (picture in tree.cpp).

#include "algorithms/reduce/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::reduce_chain {
namespace {

double price(const Scene& s) {
  return price_reduce(s, {.rounds = s.nodes - 1, .hops = s.nodes - 1, .in_round = 1, .children = 1});
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce,
    .between = "chain",
    .place = 2,
    .source = "Barnett et al. 1994 (pipelined chain)",
    .summary =
        "nodes combine, then each of N leaders adds its own to what comes from the one behind it and hands segments "
        "on, N - 1 rounds + segments; every leader sends and receives the vector once",
    .knobs = "segment within cell cells levels leaders order",
    .build = build_reduce,
    .limits = limits_of_reduce,
    .propose = vary_knobs,
    .shape = trees::Shape::chain,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::reduce_chain
