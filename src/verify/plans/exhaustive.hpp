#pragma once
// Every algorithm on every small machine: what random plans may miss by bad luck.

#include <functional>

#include "verify/plans/specimen.hpp"

namespace espalier::verify {

/// Proves, for each count of ranks from `first` to `last`: every algorithm, through cells and by single copy, with
/// every knob that it has turned by itself, and exchanges with groups and radixes; on one node, one rank per node,
/// blocks, cyclic and unequal placements, some with others than first ranks as leaders; from every root; with a size
/// that takes several segments and several rounds of the cells, and does not divide. Of more than 7 ranks one value of
/// each knob, from three roots, and from every root as usual; of more than 9 radix and levels only. `progress(ranks)`
/// is called after each count; false stops. Ends early when the outcome is hopeless.
Outcome verify_exhaustive(int first, int last, const std::function<bool(int)>& progress = {});

}  // namespace espalier::verify
