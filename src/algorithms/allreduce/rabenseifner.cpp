// Allreduce whose leaders halve what they combine, and double it back (picture in leaders.cpp).

#include "algorithms/allreduce/leaders.hpp"
#include "algorithms/prices/halving.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allreduce_rabenseifner {
namespace {

double price(const Scene& s) {
  return price_allreduce(s, [&](double bytes) {
    const double share = static_cast<double>(s.nodes - 1) / s.nodes * bytes;
    return price_lending(s, bytes) + 2 * halved_time(s, bytes, doublings(s)) + s.node.combine(share);
  });
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allreduce,
    .between = "rabenseifner",
    .place = 3,
    .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.5",
    .summary =
        "leaders halve what they combine at distances 1, 2, 4, …, then double it back, 2 log2 N rounds (two more "
        "unless N is a power of two); every leader sends 2 (N - 1)/N of the vector",
    .knobs = "segment within cell cells levels leaders",
    .build = build_allreduce,
    .limits = limits_of_allreduce,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
    .differs_on_one_node = true,
};

}  // namespace espalier::algorithms::allreduce_rabenseifner
