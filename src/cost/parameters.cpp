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

Parameters Parameters::with_way(const topology::Way& way) const {
  Parameters here = *this;
  here.latency = std::max<double>(latency, way.latency);
  if (way.per_byte > 0) here.link_rate = std::min(link_rate, 1.0 / way.per_byte);
  return here;
}

double bytes_of_a_rank(const plan::Problem& problem, int ranks) {
  const plan::Problem even{problem.operation, problem.bytes, problem.root};
  return static_cast<double>(plan::input_bytes(even, ranks, even.root) + plan::output_bytes(even, ranks, even.root));
}

}  // namespace espalier::cost
