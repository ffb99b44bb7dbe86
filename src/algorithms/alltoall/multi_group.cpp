// All-to-all through several leaders per node (leaders.cpp).

#include <algorithm>
#include <set>

#include "algorithms/alltoall/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::alltoall_multi_group {
namespace {

/// Two leaders, and as many as ranks, up to eight, or all (of large nodes what the ranks have for each other is work
/// for all: 16 nodes x 64 ranks, 8 bytes: 8 groups 208 us, 64 groups 100; played). Where ranks have cores, or one
/// connection does not fill the link.
void propose(Candidates& candidates, const Algorithm&, Choice choice) {
  const int all = std::min(64, candidates.topology().largest_node()), most = std::min(8, all);
  if (most == 1 || (candidates.is_oversubscribed() && !candidates.are_flows_held())) return;
  for (const int groups : std::set{2, most, all}) {
    choice.groups = groups;
    vary_leaders(candidates, choice);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::alltoall,
    .between = "multi_group",
    .place = 3,
    .source = "after Qian, Rashti, Afsahi 2008, sections 5.3 and 8; Kumar, Mamidala, Panda 2008",
    .summary =
        "as flat, by g leaders per node, each for every g-th other node: as many messages, on more connections and "
        "cores; by relays each leader passes on what its group has for others",
    .knobs = "groups exchange=direct|bruck radix cell cells leaders",
    .build = build_alltoall_leaders,
    .limits = why_no_alltoall_leaders,
    .propose = propose,
    .way = over_trunks,
    .price = price_alltoall_leaders,
};

}  // namespace espalier::algorithms::alltoall_multi_group
