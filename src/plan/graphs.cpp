#include "plan/graphs.hpp"

#include <algorithm>
#include <map>
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
  problem.edges = std::move(edges);
  return problem;
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
