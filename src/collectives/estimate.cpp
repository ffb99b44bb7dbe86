#include "collectives/estimate.hpp"

#include <algorithm>
#include <limits>

#include "collectives/scene.hpp"

namespace espalier::collectives {
namespace {

/// Leaders hand on along the edges of a tree or ring, or one rank sends to all or hears from all.
bool follows_edges(const plan::Problem& problem, const plan::Choice& choice) {
  using plan::Between;
  switch (choice.between) {
    case Between::knomial:
    case Between::chain:
    case Between::binary:
    case Between::ring: return true;
    case Between::scatter_allgather: return choice.exchange != plan::Exchange::bruck;
    case Between::flat:
    case Between::pairwise: return has_root(problem.operation);
    default: return false;
  }
}

/// Leaders exchange in rounds whose distances the closed form knows, and with them what each meets on the trunks.
bool knows_trunks(const plan::Problem& problem, const plan::Choice& choice) {
  using plan::Between;
  switch (choice.between) {
    case Between::recursive_doubling:
    case Between::bruck:
    case Between::gather_based:
    case Between::rabenseifner: return true;
    case Between::scatter_allgather: return choice.exchange == plan::Exchange::bruck;
    case Between::multi_group: return problem.operation == plan::Operation::allreduce;
    default: return false;
  }
}

/// What a message of the plan finds on its way. Trees and rings are laid onto the network: a whole message meets what
/// is typical, but a pipeline and a ring run at the pace of their slowest way. In an exchange all wait for the farthest
/// in every round.
topology::Way way_of(const topology::Distances& distances, const plan::Problem& problem, const plan::Choice& choice) {
  const topology::Way &typical = distances.typical(), &worst = distances.worst();
  if (knows_trunks(problem, choice)) return worst;
  if (!follows_edges(problem, choice)) return {worst.latency, std::max(worst.per_byte, distances.crowded_per_byte())};
  const bool is_paced =
      choice.segment > 0 || choice.between == plan::Between::ring || choice.between == plan::Between::scatter_allgather;
  return {typical.latency, is_paced ? worst.per_byte : typical.per_byte};
}

double estimate(const Scene& scene) {
  using plan::Operation;
  switch (scene.problem.operation) {
    case Operation::broadcast: return estimate_broadcast(scene);
    case Operation::scatter: return estimate_scatter(scene);
    case Operation::gather: return estimate_gather(scene);
    case Operation::allgather: return estimate_allgather(scene);
    case Operation::alltoall: return estimate_alltoall(scene);
    case Operation::reduce: return estimate_reduce(scene);
    case Operation::allreduce: return estimate_allreduce(scene);
    case Operation::reduce_scatter: return estimate_reduce_scatter(scene);
    case Operation::scan:
    case Operation::exscan: return estimate_scan(scene);
    case Operation::barrier: return estimate_barrier(scene);
  }
  return 0;
}

}  // namespace

NodeData node_data(const Scene& s) {
  if (s.problem.counts.empty()) return {s.of_node(), s.of_node(), s.nodes * s.of_node()};
  NodeData data{0, std::numeric_limits<double>::infinity(), 0};
  for (int node = 0; node < s.nodes; ++node) {
    double bytes = 0;
    for (const Rank rank : s.topology.ranks_on(NodeId(node)))
      bytes += static_cast<double>(s.problem.counts[static_cast<std::size_t>(rank.value)]);
    data = {std::max(data.most, bytes), std::min(data.least, bytes), data.all + bytes};
  }
  return data;
}

double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters) {
  return estimate_choice(topology, problem, choice, parameters, known_crowding(topology));
}

double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters, const Crowding& crowding) {
  if (problem.bytes == 0 && problem.operation != plan::Operation::barrier) return 0;
  cost::Parameters here = parameters.met_by(topology, problem).with_way(way_of(topology.distances(), problem, choice));
  here.latency = std::max(here.latency, crowding.latency);
  return estimate(Scene(topology, problem, choice, here, crowding));
}

}  // namespace espalier::collectives
