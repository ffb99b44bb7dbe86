#pragma once
// The masters of a node, for prices: each speaks for as many groups as it must.

#include <algorithm>
#include <cmath>

#include "algorithms/prices/scene.hpp"

namespace espalier::algorithms {

/// Masters of a node where each speaks for as many groups as it must.
struct NodeMasters {
  explicit NodeMasters(const Scene& s)
      : groups(s.choice.groups),
        count(std::min(s.choice.groups, s.on_node)),
        turns(std::ceil(static_cast<double>(groups) / count)) {}

  int groups;
  int count;     ///< ranks of a node that speak
  double turns;  ///< groups that one of them speaks for

  /// So many bytes of each group to everyone, who have them at the same place.
  cost::Phase spread(const Scene& s, double bytes) const {
    return {.stretch = bytes,
            .run = bytes,
            .writers = static_cast<double>(count),
            .taken = count - (count < s.on_node ? 0.0 : 1.0),
            .readers = static_cast<double>(s.on_node - (count == 1 ? 1 : 0)),
            .is_both = count > 1};
  }
};

}  // namespace espalier::algorithms
