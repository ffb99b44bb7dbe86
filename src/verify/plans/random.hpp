#pragma once
// Plans for random machines, problems and choices: the same for a seed on every platform.

#include <cstdint>
#include <functional>
#include <random>

#include "verify/plans/specimen.hpp"

namespace espalier::verify {

/// std::mt19937_64, whose sequence the standard fixes, reduced by ourselves, because the standard leaves distributions
/// to the implementation.
class Random {
 public:
  /// `stream` tells apart the generators of one seed.
  Random(std::uint64_t seed, std::uint64_t stream);

  /// 0 … count - 1; count > 0. The remainder's bias is below 2^-40 for all counts used here.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  int between(int first, int last) {
    return first + static_cast<int>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  bool one_in(int chances) { return below(static_cast<std::uint64_t>(chances)) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// A machine of 1 to `most_ranks` ranks (blocks, unequal nodes, cyclic, shuffled, one node, one rank per node; often a
/// prime count), every other one with facts about ranks' places, on a network that nobody knows or a random one, any
/// registered algorithm with any of its knobs, any root, and a size near an edge: 0, 1, the cache line of tiny
/// messages, a cell, all cells, a segment, the share that a single-copy writer pushes.
Specimen draw_specimen(Random& random, int most_ranks = 64);

/// Another call on the same machine.
Specimen draw_call(Random& random, Specimen on);

/// Proves `count` random plans, plan i drawn from stream i of the seed, and one in eight also in turn with another call
/// on its machine: as a queue of runs makes them, each rank beginning one when it has left the one before.
/// `progress(done)` is called after each; false stops. Ends early when the outcome is hopeless.
Outcome verify_random(std::uint64_t count, std::uint64_t seed, const std::function<bool(std::uint64_t)>& progress = {});

}  // namespace espalier::verify
