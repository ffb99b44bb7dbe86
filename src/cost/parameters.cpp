#include "cost/parameters.hpp"

#include <algorithm>

namespace espalier::cost {

Parameters Parameters::with_data_of(double bytes) const {
  Parameters here = *this;
  for (const Cache& cache : caches) {
    if (bytes <= cache.bytes) break;
    for (Line* line : {&here.put, &here.get, &here.copy, &here.reduce, &here.single_copy})
      line->rate = std::min(line->rate, cache.rate_beyond);
  }
  return here;
}

Parameters Parameters::met_by(const topology::Topology& topology, const plan::Problem& problem) const {
  Parameters here = met_by(bytes_of_a_rank(problem, topology.ranks()), are_two_near(topology));
  if (topology.capabilities().shared_cores > 0) here.cores = topology.capabilities().shared_cores;
  return here;
}

Parameters Parameters::met_by(double bytes, bool are_two_near) const {
  Parameters here = with_data_of(bytes);
  if (!are_two_near) return here;
  Parameters pair = *this;
  pair.put = put_of_two, pair.get = get_of_two;
  pair = pair.with_data_of(bytes);
  // The cell stays in the caches: of a copy's two sides one is beyond them.
  here.put = {put_of_two.fixed, std::min(put_of_two.rate, 2 * pair.put.rate)};
  here.get = {get_of_two.fixed, std::min(get_of_two.rate, 2 * pair.get.rate)};
  return here;
}

Parameters Parameters::with_way(const topology::Way& way) const {
  Parameters here = *this;
  here.latency = std::max<double>(latency, way.latency);
  if (way.per_byte > 0) here.link_rate = std::min(link_rate, 1.0 / way.per_byte);
  return here;
}

bool are_two_near(const topology::Topology& topology) {
  const topology::Capabilities& has = topology.capabilities();
  const bool is_quick = has.handover == machine::Handover::quick;
  return is_quick && topology.nodes() == 1 && topology.ranks() == 2 && !has.oversubscribed;
}

double bytes_of_a_rank(const plan::Problem& problem, int ranks) {
  if (has_edges(problem.operation)) return 2 * static_cast<double>(problem.bytes) * problem.degree;
  const plan::Problem even{problem.operation, problem.bytes, problem.root};
  return static_cast<double>(plan::input_bytes(even, ranks, even.root) + plan::output_bytes(even, ranks, even.root));
}

}  // namespace espalier::cost
