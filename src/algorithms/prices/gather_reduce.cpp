#include "algorithms/prices/gather_reduce.hpp"

#include <algorithm>

#include "algorithms/words.hpp"

namespace espalier::algorithms {

double price_gather_reduce(const Scene& s) {
  const bool is_scattered = s.problem.operation == Operation::reduce_scatter;
  const double bytes = is_scattered ? s.bytes * s.ranks : s.segment(), segments = is_scattered ? 1 : s.segments();
  const double sent = s.problem.operation == Operation::reduce ? 0 : (s.nodes - 1) * s.is.overhead;
  const double gather = s.node.collect(bytes), links = s.network.several(s.nodes - 1, bytes * s.on_node) + sent;
  const double fold = (is_scattered ? s.on_node : 1) *
                      ((s.ranks - 1) * s.node.combine(s.bytes / segments) + s.node.copy(s.bytes / segments));
  const double all = gather + s.network.delay() + links + fold;
  if (s.problem.operation == Operation::allreduce) return segments * (all + s.node.hand_out(bytes));
  return all + (segments - 1) * std::max(gather + fold, links);  // what others send is not held up by the root
}

}  // namespace espalier::algorithms
