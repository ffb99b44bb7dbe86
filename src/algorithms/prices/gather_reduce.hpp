#pragma once
// What reductions take that gather all vectors before they combine any.

#include "algorithms/prices/scene.hpp"

namespace espalier::algorithms {

/// Microseconds on several nodes: all vectors, uncombined, to one leader or to all of them, which fold what they answer
/// for.
double price_gather_reduce(const Scene& scene);

}  // namespace espalier::algorithms
