#include "collectives/choose_reductions.hpp"

#include <algorithm>
#include <bit>

#include "plan/blocks.hpp"
#include "smp/reduce_grain.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;
using topology::Topology;

namespace {

/// Cells for stretches of `bytes`, each cut into `parts`: all at once when that is little, else a few that stay in the
/// second-level cache. Whole grains in any case, if the window has room for them.
void choose_cells(const Topology& topology, const Problem& problem, Bytes bytes, int parts, Choice& choice) {
  const smp::Grain grain(problem);
  const Bytes window = topology.capabilities().window_bytes;
  const Bytes least = grain.bytes() * static_cast<Bytes>(parts);
  const Bytes one_stage = std::min<Bytes>(window, 8 << 10);
  const Bytes wanted =
      bytes <= one_stage ? grain.round_up(std::max<Bytes>(bytes, 64)) : std::min<Bytes>(window / 4, 32 << 10);
  choice.cell = std::max(grain.round_down(std::min(wanted, window)), least);
  choice.cells = bytes <= one_stage ? 1 : static_cast<int>(std::clamp<Bytes>(window / choice.cell, 1, 8));
}

bool may_single_copy(const Topology& topology) {
  return topology.capabilities().single_copy && !topology.capabilities().oversubscribed;
}

Decision choose_allreduce_on_node(const Topology& topology, const Problem& problem) {
  Decision decision;
  Choice& choice = decision.choice;
  choice.between = Between::rabenseifner;
  // Everyone reads p - 1 vectors instead of twice (p - 1) / p of one, but waits once and not twice. Measured with 2
  // ranks: 64K 7.8 µs against 10.3, 256K 36 against 38, 1M 350 against 320.
  const Bytes apart = (Bytes{256} << 10) / static_cast<Bytes>(std::max(1, topology.ranks() - 1) * topology.ranks());
  if (problem.bytes <= apart) {
    choice.between = Between::gather_reduce;
    if (may_single_copy(topology) && problem.bytes >= (Bytes{8} << 10)) choice.within = Within::single_copy;
    decision.reason = "one node, short: every rank folds everything for itself, waiting once";
  } else if (may_single_copy(topology)) {
    choice.within = Within::single_copy;
    decision.reason = "one node, large: every rank folds a slice, copied once";
  } else {
    decision.reason = "one node: every rank folds a slice, through cells";
  }
  choose_cells(topology, problem, problem.bytes, 1, choice);
  return decision;
}

/// Operands must keep rank order, and nodes do not hold consecutive ranks.
bool must_gather(const Topology& topology, const Problem& problem) {
  return topology.nodes() > 1 && !problem.is_commutative && !topology.is_blocked();
}

Decision choose_gather_reduce(const Topology& topology, const Problem& problem) {
  Decision decision;
  Choice& choice = decision.choice;
  choice.between = Between::gather_reduce;
  if (problem.bytes > (Bytes{64} << 10)) choice.segment = Bytes{64} << 10;  // scratch for so much of every rank
  choose_cells(topology, problem, problem.bytes, 1, choice);
  decision.reason = "operands keep rank order where nodes do not hold consecutive ranks: gather all, then fold";
  return decision;
}

Decision choose_allreduce(const Topology& topology, const Problem& problem) {
  if (topology.nodes() == 1) return choose_allreduce_on_node(topology, problem);
  if (must_gather(topology, problem)) return choose_gather_reduce(topology, problem);
  Decision decision;
  Choice& choice = decision.choice;
  const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(topology.nodes()));
  if (problem.bytes <= (Bytes{16} << 10)) {
    choice.between = Between::recursive_doubling;
    decision.reason = "short: the fewest rounds between leaders";
  } else if (!is_power_of_two && problem.is_commutative && problem.bytes >= (Bytes{512} << 10)) {
    choice.between = Between::ring;
    decision.reason = "large, and no power of two of nodes: a ring sends the vector not quite twice";
  } else {
    choice.between = Between::rabenseifner;
    decision.reason = "large: leaders halve what they send in each round, then double it back";
  }
  if (may_single_copy(topology) && problem.bytes >= (Bytes{32} << 10)) choice.within = Within::single_copy;
  choose_cells(topology, problem, problem.bytes, 1, choice);
  return decision;
}

Decision choose_reduce(const Topology& topology, const Problem& problem) {
  if (must_gather(topology, problem)) return choose_gather_reduce(topology, problem);
  Decision decision;
  Choice& choice = decision.choice;
  choice.between = Between::knomial;
  if (problem.bytes > (Bytes{64} << 10)) choice.segment = Bytes{64} << 10;
  if (may_single_copy(topology) && problem.bytes >= (Bytes{32} << 10)) choice.within = Within::single_copy;
  decision.reason = topology.nodes() == 1 ? "one node: long vectors are cut, and every rank folds a slice"
                                          : "a binomial tree of leaders, segment by segment";
  choose_cells(topology, problem, problem.bytes, 1, choice);
  return decision;
}

Decision choose_reduce_scatter(const Topology& topology, const Problem& problem) {
  Decision decision;
  Choice& choice = decision.choice;
  choice.between = Between::pairwise;
  const Bytes total = plan::Blocks(problem, topology.ranks()).total();
  if (may_single_copy(topology) && total >= (Bytes{32} << 10)) choice.within = Within::single_copy;
  decision.reason = topology.nodes() == 1 ? "one node: every rank folds its own block"
                                          : "every leader sends each other node's part directly";
  if (topology.nodes() > 1 && !problem.is_commutative && !topology.is_blocked()) {
    choice.between = Between::gather_reduce;
    decision.reason = "operands must stay in rank order, which nodes do not hold: gathered first, then folded";
  }
  choose_cells(topology, problem, total, topology.nodes() == 1 ? topology.ranks() : 1, choice);
  return decision;
}

Decision choose_scan(const Topology& topology, const Problem& problem) {
  Decision decision;
  Choice& choice = decision.choice;
  const bool is_short = problem.bytes * static_cast<Bytes>(topology.ranks()) <= (Bytes{64} << 10);
  const bool is_apart = topology.nodes() == 1 && (is_short || topology.ranks() == 2);
  choice.between = is_apart ? Between::gather_reduce : Between::chain;
  if (is_apart && may_single_copy(topology) && problem.bytes >= (Bytes{16} << 10)) choice.within = Within::single_copy;
  decision.reason = is_apart ? "one node, short: every rank folds the lower ranks' vectors for itself"
                             : "a chain in rank order, pipelined";
  choose_cells(topology, problem, problem.bytes, 1, choice);
  return decision;
}

}  // namespace

Decision choose_reduction(const Topology& topology, const Problem& problem) {
  switch (problem.operation) {
    case Operation::allreduce: return choose_allreduce(topology, problem);
    case Operation::reduce_scatter: return choose_reduce_scatter(topology, problem);
    case Operation::scan:
    case Operation::exscan: return choose_scan(topology, problem);
    default: return choose_reduce(topology, problem);
  }
}

}  // namespace espalier::collectives
