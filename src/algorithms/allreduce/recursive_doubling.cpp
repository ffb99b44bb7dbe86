// Allreduce whose leaders swap whole vectors (picture in leaders.cpp).

#include "algorithms/allreduce/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allreduce_recursive_doubling {
namespace {

double price(const Scene& s) {
  return price_allreduce(s, [&](double bytes) {
    double time = price_lending(s, bytes) + doublings(s) * s.node.combine(bytes);
    for (int i = 0; i < doublings(s); ++i) time += s.message_to(1 << i, bytes);
    return time;
  });
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allreduce,
    .between = "recursive_doubling",
    .place = 2,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.5",
    .summary =
        "leaders swap whole vectors at distances 1, 2, 4, …, log2 N rounds (two more unless N is a power of two), the "
        "vector each; on one node every rank folds one slice for all",
    .knobs = "segment within cell cells levels leaders",
    .build = build_allreduce,
    .limits = limits_of_allreduce,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::allreduce_recursive_doubling
