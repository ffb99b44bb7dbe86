#include "algorithms/prices/ways.hpp"

#include <algorithm>

namespace espalier::algorithms {

topology::Way along_edges(const topology::Distances& distances, const plan::Choice& choice) {
  const topology::Way& typical = distances.typical();
  return {typical.latency, choice.segment > 0 ? distances.worst().per_byte : typical.per_byte};
}

topology::Way along_ring(const topology::Distances& distances, const plan::Choice&) {
  return {distances.typical().latency, distances.worst().per_byte};
}

topology::Way in_rounds(const topology::Distances& distances, const plan::Choice&) { return distances.worst(); }

topology::Way over_trunks(const topology::Distances& distances, const plan::Choice&) {
  const topology::Way& worst = distances.worst();
  return {worst.latency, std::max(worst.per_byte, distances.crowded_per_byte())};
}

}  // namespace espalier::algorithms
