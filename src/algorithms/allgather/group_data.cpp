#include "algorithms/allgather/group_data.hpp"

#include "algorithms/words.hpp"

namespace espalier::algorithms {

using groups::Shares;

namespace {

/// A copy of so much costs about as much as starting one more message.
constexpr Bytes message_worth_a_copy = 8 << 10;

}  // namespace

GroupShares::GroupShares(const topology::Topology& topology, const smp::NodeMajor& order, const Masters& masters,
                         int group)
    : group_(group) {
  begin_.reserve(static_cast<std::size_t>(topology.nodes()) + 1);
  begin_.push_back(0);
  for (int n = 0; n < topology.nodes(); ++n) {
    const Shares shares(topology.size_of(NodeId(n)), masters.groups());
    const int before = topology.ranks_before(NodeId(n));
    const Bytes first = order.begin(before + shares.first(group));
    masters_.push_back(masters.of(n, group));
    sources_.push_back(first);
    begin_.push_back(begin_.back() + order.begin(before + shares.last(group)) - first);
  }
}

bool stages_data(bool is_blocked, const plan::Problem& problem, const plan::Choice& choice) {
  if (choice.staging != plan::Staging::auto_) return choice.staging == plan::Staging::copy;
  if (choice.within == plan::Within::single_copy) return false;
  const bool is_short = problem.bytes < message_worth_a_copy && !is_blocked;
  return choice.between != plan::Between::multi_group_lean || is_short;
}

GroupData::GroupData(const plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice)
    : topology_(builder.topology()),
      node_(builder.node()),
      order_(topology_, problem),
      shares_(builder.node_size(), choice.groups),
      is_staged_(stages_data(topology_.is_blocked(), problem, choice)) {
  const Masters masters(topology_, problem, choice);
  std::vector<Bytes> used(static_cast<std::size_t>(builder.node_size()));
  for (int g = 0; g < choice.groups; ++g) {
    const GroupShares& group = groups_.emplace_back(topology_, order_, masters, g);
    Bytes& end = used[static_cast<std::size_t>(master_of(group).value)];
    bases_.push_back(end);
    end += group.total();
  }
}

bool GroupData::is_alone(LocalRank rank) const {
  const int group = group_of(rank);
  return shares_.last(group) - shares_.first(group) == 1 && master_of(groups_[static_cast<std::size_t>(group)]) == rank;
}

Bytes GroupData::scratch_bytes(LocalRank rank) const {
  Bytes sum = 0;
  if (is_staged_) for_each_group_of(rank, [&](const GroupShares& group) { sum += group.total(); });
  return sum;
}

smp::Range GroupData::place_in_output(LocalRank rank) const {
  const Rank global = topology_.ranks_on(node_)[static_cast<std::size_t>(rank.value)];
  return {Buffer::output, order_.in_rank_order().begin(global), order_.in_rank_order().bytes(global)};
}

smp::Range GroupData::place_at_master(LocalRank rank) const {
  const smp::Range output = place_in_output(rank);
  if (!is_staged_) return output;
  const GroupShares& group = groups_[static_cast<std::size_t>(group_of(rank))];
  const int before = topology_.ranks_before(node_);
  const Bytes in_share = order_.begin(before + rank.value) - order_.begin(before + shares_.first(group.group()));
  return {Buffer::scratch, base_of(group) + group.begin(node_.value) + in_share, output.bytes};
}

}  // namespace espalier::algorithms
