#pragma once
// How the long blocks of a scatterv or gatherv are dealt out between the root and their other ends.

#include <algorithm>

#include "base/ids.hpp"

namespace espalier::execute {

/// What a byte of the root's own block costs it, against one between two processes: no page is looked up and held. Two
/// ranks, us for a MB: 22 against 108 in blocks of 1M, 75 against 280 in blocks of 4M, which leave the caches.
inline constexpr double own_weight = 0.25;

/// The part of others' blocks that the root copies, from 0 to 1, so that all ranks are busy for as long. Each other
/// rank copies the rest of its own. `own`: what the root copies within its own memory besides; `others`: all others'
/// bytes.
inline double root_share(int ranks, Bytes own, Bytes others) noexcept {
  if (others == 0) return 0;
  const double within = own_weight * static_cast<double>(own), between = static_cast<double>(others);
  return std::max(0.0, (between + within) / ranks - within) / between;
}

}  // namespace espalier::execute
