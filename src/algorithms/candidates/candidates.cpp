#include "algorithms/candidates/candidates.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/catalogue.hpp"
#include "algorithms/words.hpp"
#include "smp/domains.hpp"

namespace espalier::algorithms {

using topology::Topology;

Candidates::Candidates(const Topology& topology, const Problem& problem, const cost::Parameters& parameters)
    : topology_(topology),
      problem_(problem),
      are_flows_held_(parameters.flow_rate < parameters.link_rate),
      on_node_(topology, problem, parameters) {}

void Candidates::vary_segment(Choice choice, void (Candidates::*add)(const Choice&)) {
  for (const Bytes segment : {Bytes{0}, Bytes{16} << 10, Bytes{64} << 10, Bytes{256} << 10}) {
    choice.segment = segment;
    if (segment == 0 || segment < longest_message()) (this->*add)(choice);
  }
}

void Candidates::vary_exchange(const Algorithm& algorithm, Choice choice, bool doubles) {
  using plan::Exchange;
  const auto add_one = [&](Exchange exchange) {
    choice.exchange = exchange;
    add(choice);
  };
  add_one(Exchange::direct);
  if (!algorithm.has_knob("exchange")) return;
  if (doubles) add_one(Exchange::recursive_doubling);
  choice.exchange = Exchange::ring;
  vary_segment(choice);
}

std::set<int> Candidates::numbers_of_groups() const {
  const int most = std::min(8, topology_.largest_node());
  return {1, std::min(2, most), most};
}

bool Candidates::keeps_order() const {
  return problem_.operation == Operation::allgather && !topology_.is_blocked() && topology_.largest_node() > 1 &&
         problem_.bytes >= 8 << 10;
}

/// What there is to cut: a node's blocks or a vector.
Bytes Candidates::longest_message() const {
  const bool is_of_node = problem_.operation == Operation::scatter || problem_.operation == Operation::gather ||
                          problem_.operation == Operation::allgather;
  return problem_.bytes * static_cast<Bytes>(is_of_node ? topology_.largest_node() : 1);
}

namespace {

/// One message each way at a time, where whoever speaks has the link for itself.
bool can_take_turns(const Candidates& candidates) {
  const Topology& topology = candidates.topology();
  const bool is_alone = candidates.problem().operation == Operation::reduce_scatter || topology.largest_node() == 1;
  return is_alone && topology.nodes() > 2 && topology.nodes() < many_nodes;
}

}  // namespace

void vary_knobs(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  for (const int radix : {2, 4}) {
    choice.radix = radix;
    if (radix > 2 && (!algorithm.has_knob("radix") || radix > candidates.topology().nodes())) continue;
    algorithm.has_knob("segment") ? candidates.vary_segment(choice) : candidates.add(choice);
  }
  choice.radix = Choice{}.radix;
  choice.connections = 1;
  if (algorithm.has_knob("connections") && can_take_turns(candidates)) candidates.add(choice);
}

/// Played on seven machines (docs/nodes.md): a broadcast's tree pays where so many caches ask one for so much; a sum in
/// levels where there are several caches, even two sockets', or many ranks below one; a barrier's reports where lines
/// of all would go to all.
bool follows_caches(const Topology& topology, const Problem& problem) {
  constexpr int least_ranks = 12, many_ranks = 32, many_caches = 8;
  constexpr Bytes least_sent = 256 << 10;
  if (topology.nodes() > 1 || topology.capabilities().oversubscribed || topology.ranks() < least_ranks) return false;
  const bool is_sum = problem.operation == Operation::reduce || problem.operation == Operation::allreduce;
  const bool has_levels =
      is_sum || problem.operation == Operation::broadcast || problem.operation == Operation::barrier;
  if (!has_levels || topology.facts_on(NodeId(0)).empty() || !smp::has_levels(topology, 3)) return false;
  const int caches = smp::Domains::of_caches(topology, NodeId(0)).count();
  const bool has_many_ranks = topology.ranks() >= many_ranks;
  if (problem.operation == Operation::barrier) return has_many_ranks;
  if (is_sum) return caches > 1 || has_many_ranks;
  return caches >= many_caches && problem.bytes * static_cast<Bytes>(caches) >= least_sent;
}

namespace {

/// On one node all that have levels do the same. Through cells: under single copy sums have none.
void propose_levels(Candidates& candidates, Operation operation) {
  const auto all = algorithms();
  const auto first = std::ranges::find_if(all, [&](const Algorithm& algorithm) {
    return algorithm.operation == operation && algorithm.has_knob("levels");
  });
  Choice choice;
  choice.between = first->between;
  choice.levels = 3;
  candidates.add_cells(choice);
}

}  // namespace

std::vector<Choice> derive_candidates(const Topology& topology, const Problem& problem,
                                      const cost::Parameters& parameters) {
  Candidates candidates(topology, problem, parameters);
  if (follows_caches(topology, problem)) {
    propose_levels(candidates, problem.operation);
    return std::move(candidates).take();
  }
  bool is_first = true;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation != problem.operation) continue;
    Choice choice;
    choice.between = algorithm.between;
    const bool is_outdone = algorithm.is_outdone_on_one_node != nullptr && algorithm.is_outdone_on_one_node(candidates);
    const bool is_own_way = (is_first || algorithm.differs_on_one_node) && !is_outdone;
    if (topology.nodes() == 1 && is_own_way) candidates.add(choice);
    if (topology.nodes() > 1 && algorithm.propose != nullptr) algorithm.propose(candidates, algorithm, choice);
    is_first = false;
  }
  return std::move(candidates).take();
}

}  // namespace espalier::algorithms
