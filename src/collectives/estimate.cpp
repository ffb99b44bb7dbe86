#include "collectives/estimate.hpp"

#include "collectives/scene.hpp"

namespace espalier::collectives {
namespace {

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

double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters) {
  if (problem.bytes == 0 && problem.operation != plan::Operation::barrier) return 0;
  const cost::Parameters here = parameters.with_data_of(cost::bytes_of_a_rank(problem, topology.ranks()));
  return estimate(Scene(topology, problem, choice, here));
}

}  // namespace espalier::collectives
