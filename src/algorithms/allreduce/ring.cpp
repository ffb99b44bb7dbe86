// Allreduce round a ring of leaders (picture in leaders.cpp).

#include "algorithms/allreduce/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allreduce_ring {
namespace {

std::string limits(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (!problem.is_commutative && topology.nodes() > 1) return "a ring changes the order of operands";
  return limits_of_allreduce(topology, problem, choice);
}

double price(const Scene& s) {
  return price_allreduce(s, [&](double bytes) {
    return (s.nodes - 1) * (price_round(s, bytes / s.nodes) + s.network.message(bytes / s.nodes));
  });
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allreduce,
    .between = "ring",
    .place = 4,
    .source = "Patarasuk, Yuan 2009",
    .summary =
        "every leader's share of the vector goes round and collects, then goes round as the result, 2 (N - 1) rounds; "
        "every leader sends 2 (N - 1)/N of the vector for any N; operands change places",
    .knobs = "segment within cell cells levels leaders order",
    .build = build_allreduce,
    .limits = limits,
    .propose = vary_knobs,
    .shape = trees::Shape::ring,
    .way = along_ring,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::allreduce_ring
