// Reduce_scatter whose leaders swap all vectors before they combine any (parts/gather_reduce.hpp).

#include "algorithms/parts/gather_reduce.hpp"
#include "algorithms/prices/gather_reduce.hpp"
#include "algorithms/reduce_scatter/parts.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::reduce_scatter_gather_reduce {
namespace {

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  build_reduce_scatter(builder, problem, choice, build_gather_reduce);
}

/// Block by block, as each is folded.
double hand_out_blocks(const Scene& s) {
  return s.on_node > 1 ? (s.on_node - 1) * s.node.put(s.bytes) + s.node.flag() + s.node.get(s.bytes) : 0;
}

double price(const Scene& s) {
  return s.nodes == 1 ? s.node.reduce_blocks(s.bytes) : price_gather_reduce(s) + hand_out_blocks(s);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce_scatter,
    .between = "gather_reduce",
    .place = 3,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .summary =
        "leaders swap all vectors, uncombined, one round; each folds its node's blocks in rank order, on any placement",
    .knobs = "within cell cells stores leaders",
    .build = build,
    .limits = limits_of_reduce_scatter,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
    .sends_all_vectors = true,
};

}  // namespace espalier::algorithms::reduce_scatter_gather_reduce
