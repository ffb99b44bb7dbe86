// Allgather by several groups of masters, with less copying than the paper's form (groups.cpp).

#include <algorithm>
#include <set>

#include "algorithms/allgather/group_prices.hpp"
#include "algorithms/allgather/groups.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allgather_multi_group_lean {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  return price_lean_groups(s, GroupsOfNode(s, s.choice.groups));
}

/// Where one connection does not fill the link, or every rank may send its own where it belongs. Elsewhere groups only
/// share out work, of which an allgather has little, to cores that ranks must have (4 x 4 ranks on 2 cores: an
/// allgather of 4K takes 1.2 times as long).
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  const bool keeps_order = candidates.keeps_order();
  if (!candidates.are_flows_held() && (!keeps_order || candidates.is_oversubscribed())) return;
  const int all = candidates.topology().largest_node();
  for (const int groups : keeps_order ? std::set{std::min(64, all)} : candidates.numbers_of_groups()) {
    if (keeps_order && groups != all) continue;
    choice.groups = groups;
    candidates.vary_exchange(algorithm, choice, false);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "multi_group_lean",
    .place = 7,
    .source = "after Qian, Rashti, Afsahi 2008, section 5.3",
    .summary =
        "as multi_group, but a node's own data are shared once and never again, masters do not read what they have, "
        "and what has come is spread, and round a ring sent on, while the rest is on the wire",
    .knobs = "groups exchange connections segment within cell cells staging leaders",
    .build = build_lean_allgather,
    .propose = propose,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_multi_group_lean
