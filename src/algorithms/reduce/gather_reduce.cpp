// Reduce that gathers all vectors before it combines any (parts/gather_reduce.hpp).

#include "algorithms/parts/gather_reduce.hpp"
#include "algorithms/prices/gather_reduce.hpp"
#include "algorithms/reduce/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::reduce_gather_reduce {
namespace {

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1) return build_reduce(builder, problem, choice);
  if (problem.bytes > 0) build_gather_reduce(builder, problem, choice);
}

double price(const Scene& s) { return s.nodes == 1 ? s.node.reduce_to_leader(s.bytes) : price_gather_reduce(s); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce,
    .between = "gather_reduce",
    .place = 4,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .summary =
        "leaders send their nodes' vectors, uncombined, to the root's, one round; the root folds all in rank order, on "
        "any placement",
    .knobs = "segment within cell cells leaders",
    .build = build,
    .limits = limits_of_reduce,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
    .is_cut = true,
    .sends_all_vectors = true,
};

}  // namespace espalier::algorithms::reduce_gather_reduce
