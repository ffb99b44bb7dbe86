// Allgather by recursive doubling among leaders (leaders.cpp).

#include <bit>

#include "algorithms/allgather/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allgather_recursive_doubling {
namespace {

double price(const Scene& s) { return price_doubling(s, true); }

/// Of few nodes none is far, and those beyond a power of two would bring all they have at the end.
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  vary_knobs(candidates, algorithm, choice);
  const int nodes = candidates.topology().nodes();
  if (nodes <= many_nodes || !std::has_single_bit(static_cast<unsigned>(nodes))) return;
  choice.order = plan::Order::depth;
  candidates.add(choice);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "recursive_doubling",
    .place = 2,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .summary =
        "leaders swap all they have at distances 1, 2, 4, …, log2 N rounds (two more unless N is a power of two); far "
        "first (order=depth) at N/2, N/4, …, 1, with a copy more",
    .knobs = "within cell cells stores leaders order=auto|depth",
    .build = build_allgather,
    .propose = propose,
    .way = in_rounds,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_recursive_doubling
