// Allgather by several groups of masters, in the form of the paper (groups.cpp).

#include "algorithms/allgather/group_prices.hpp"
#include "algorithms/allgather/groups.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allgather_multi_group {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  return price_groups(s, GroupsOfNode(s, s.choice.groups), s.choice.exchange);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "multi_group",
    .place = 6,
    .source = "Qian, Rashti, Afsahi 2008, section 5.3",
    .summary =
        "g masters per node gather their shares, each exchanges with its group over N - 1 connections, g (N - 1) per "
        "node; every master hands its group's data to its node",
    .knobs = "groups exchange connections segment within cell cells staging leaders",
    .build = build_group_allgather,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_multi_group
