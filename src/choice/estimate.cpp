#include "choice/estimate.hpp"

#include <algorithm>

#include "algorithms/catalogue.hpp"
#include "algorithms/prices/scene.hpp"

namespace espalier::choice {

double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters) {
  return estimate_choice(topology, problem, choice, parameters, algorithms::known_crowding(topology));
}

double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters, const algorithms::Crowding& crowding) {
  if (problem.bytes == 0 && problem.operation != plan::Operation::barrier) return 0;
  const algorithms::Algorithm& algorithm = algorithms::find_algorithm(problem.operation, choice.between);
  const topology::Way way = algorithm.way(topology.distances(), choice);
  cost::Parameters here = parameters.met_by(topology, problem).with_way(way);
  here.latency = std::max(here.latency, crowding.latency);
  return algorithm.price(algorithms::Scene(topology, problem, choice, here, crowding));
}

}  // namespace espalier::choice
