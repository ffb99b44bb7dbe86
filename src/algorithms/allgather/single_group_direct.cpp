// Allgather by the masters of a single group per node, all at once (groups.cpp).

#include "algorithms/allgather/group_prices.hpp"
#include "algorithms/allgather/groups.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allgather_single_group_direct {
namespace {

Choice form_of(Choice choice) {
  choice.groups = 1;
  choice.exchange = plan::Exchange::direct;
  return choice;
}

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  build_group_allgather(builder, problem, form_of(choice));
}

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  return price_groups(s, GroupsOfNode(s, 1), plan::Exchange::direct);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "single_group_direct",
    .place = 5,
    .source = "Qian, Rashti, Afsahi 2008, section 5.1",
    .summary =
        "one master per node gathers, sends to all others at once over N - 1 connections, hands all data to its node",
    .knobs = "connections segment within cell cells staging leaders",
    .build = build,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_single_group_direct
