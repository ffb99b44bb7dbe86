// Allreduce in which every rank, or every leader, folds all vectors (parts/gather_reduce.hpp, smp/reduce/apart.hpp).

#include "algorithms/parts/gather_reduce.hpp"
#include "algorithms/allreduce/leaders.hpp"
#include "algorithms/prices/gather_reduce.hpp"
#include "algorithms/row.hpp"
#include "smp/reduce/apart.hpp"

namespace espalier::algorithms::allreduce_gather_reduce {
namespace {

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (builder.topology().nodes() > 1) return build_gather_reduce(builder, problem, choice);
  smp::reduce_apart(builder, problem, choice, builder.node_size() - 1);
}

double price(const Scene& s) { return s.nodes == 1 ? s.node.fold_all(s.bytes) : price_gather_reduce(s); }

/// Many ranks, each with a core, that read everybody's vector: all of them take turns at each line. 16 Xeon cores, us,
/// and where each folds a slice for all: 8 ranks, 512 bytes 1.8 and 2.0, 1K 2.7 and 2.1, 2K 4.2 and 2.7; 16 ranks, 256
/// bytes 2.3 and 3.1, 512 3.1 and 3.3, 1K 5.4 and 3.3, 2K 8.8 and 3.9.
bool is_crowded(const Candidates& candidates) {
  constexpr int least_crowd = 8;
  constexpr Bytes most_read = 8 << 10;
  const int ranks = candidates.topology().ranks();
  return !candidates.is_oversubscribed() && ranks >= least_crowd &&
         candidates.problem().bytes * static_cast<Bytes>(ranks) >= most_read;
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allreduce,
    .between = "gather_reduce",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2004, section 5",
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
    .is_outdone_on_one_node = is_crowded,
};

}  // namespace espalier::algorithms::allreduce_gather_reduce
