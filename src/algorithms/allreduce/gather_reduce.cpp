// Allreduce in which every rank, or every leader, folds all vectors (parts/gather_reduce.hpp, smp/reduce_apart.hpp).

#include "algorithms/parts/gather_reduce.hpp"
#include "algorithms/allreduce/leaders.hpp"
#include "algorithms/prices/gather_reduce.hpp"
#include "algorithms/row.hpp"
#include "smp/reduce_apart.hpp"

namespace espalier::algorithms {
namespace {

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (builder.topology().nodes() > 1) return build_gather_reduce(builder, problem, choice);
  smp::reduce_apart(builder, problem, choice, builder.node_size() - 1);
}

double price(const Scene& s) { return s.nodes == 1 ? s.node.fold_all(s.bytes) : price_gather_reduce(s); }

}  // namespace

extern const Algorithm allreduce_gather_reduce = {
    .operation = Operation::allreduce,
    .between = "gather_reduce",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2005, section 5",
    .summary =
        "one node: every rank folds everyone's vector for itself, one synchronisation per piece; reads p - 1 vectors. "
        "Several: leaders swap all vectors, one round, and fold them in rank order, on any placement",
    .knobs = "segment within cell cells leaders",
    .build = build,
    .limits = limits_of_allreduce,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
    .is_cut = true,
    .sends_all_vectors = true,
    .differs_on_one_node = true,
};

}  // namespace espalier::algorithms
