#include "plan/graphs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace espalier::plan {

Problem with_edges(Problem problem, const topology::Topology& topology, std::vector<Edge> edges) {
  std::map<Rank, int> from, to, far_from, far_to;
  problem.degree = problem.far_degree = 0;
  for (const Edge& edge : edges) {
    problem.degree = std::max({problem.degree, ++from[edge.from], ++to[edge.to]});
    if (topology.node_of(edge.from) != topology.node_of(edge.to))
      problem.far_degree = std::max({problem.far_degree, ++far_from[edge.from], ++far_to[edge.to]});
  }
  std::vector<Crossing::Edge> ends;
  for (const Edge& edge : edges) ends.push_back({edge.from, edge.to});
  std::stable_sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  Crossing crossing = derive_crossing(topology, std::move(ends));
  problem.crossing = nullptr;
  if (!crossing.edges.empty()) problem.crossing = std::make_shared<const Crossing>(std::move(crossing));
  problem.edges = std::move(edges);
  return problem;
}

namespace {

/// The most of all nodes; of parcels whose blocks are distinct pairs (edges), or distinct senders.
Crossing::Most derive_most(const topology::Topology& topology, const Crossing& crossing, bool are_senders) {
  std::map<std::pair<NodeId, NodeId>, int> parcels;
  std::set<std::pair<NodeId, Rank>> seen;
  for (const Crossing::Edge& edge : crossing.edges) {
    const NodeId from = topology.node_of(edge.from), to = topology.node_of(edge.to);
    parcels[{from, to}] += !are_senders || seen.insert({to, edge.from}).second;
  }
  std::map<NodeId, Crossing::Most> out, in;
  Crossing::Most most;
  for (const auto& [ends, blocks] : parcels)
    for (Crossing::Most* node : {&out[ends.first], &in[ends.second]}) {
      most.parcels = std::max(most.parcels, ++node->parcels);
      most.blocks = std::max(most.blocks, node->blocks += blocks);
      most.parcel = std::max(most.parcel, blocks);
    }
  return most;
}

}  // namespace

Crossing derive_crossing(const topology::Topology& topology, std::vector<Crossing::Edge> edges) {
  Crossing crossing{std::move(edges), {}, {}};
  std::erase_if(crossing.edges, [&](const auto& it) { return topology.node_of(it.from) == topology.node_of(it.to); });
  crossing.alltoall = derive_most(topology, crossing, false);
  crossing.allgather = derive_most(topology, crossing, true);
  return crossing;
}

Problem with_ring(Problem problem, const topology::Topology& topology, int degree) {
  const int ranks = topology.ranks();
  std::vector<Edge> edges;
  const bool has_one_block = problem.operation == Operation::neighbor_allgather;
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < degree; ++i) {
      const int distance = i % 2 == 0 ? 1 + i / 2 : -1 - i / 2;
      const int to = ((from + distance) % ranks + ranks) % ranks;
      const int block = has_one_block ? 0 : i;
      const int opposite = (i ^ 1) < degree ? i ^ 1 : i;  // what goes to the right comes from the left
      edges.push_back({.from = Rank(from),
                       .to = Rank(to),
                       .bytes = problem.bytes,
                       .input_begin = static_cast<Bytes>(block) * problem.bytes,
                       .output_begin = static_cast<Bytes>(opposite) * problem.bytes,
                       .part = block,
                       .parts = has_one_block ? 1 : degree});
    }
  return with_edges(std::move(problem), topology, std::move(edges));
}

}  // namespace espalier::plan
