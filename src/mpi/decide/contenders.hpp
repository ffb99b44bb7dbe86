#pragma once
// Who may do a kind of calls, as far as it is worth a try: what the library would take, what the cost model thinks
// nearly as good, and the MPI underneath.

#include <vector>

#include "cost/parameters.hpp"
#include "mpi/decide/selection.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

/// The first is what the built-in choice takes; the others differ from it in more than sizes of cells and segments,
/// best first by the model, native last. Pure: equal on all ranks.
std::vector<Selection> derive_contenders(const topology::Topology& topology, const plan::Problem& problem,
                                         const cost::Parameters& parameters);

/// Whether native and all of ours give the same bits, so that it may change from call to call who does them.
bool may_change_hands(const topology::Topology& topology, const plan::Problem& problem);

/// "native", "tiny", or the choice: what parse_selection() reads back.
std::string to_string(const Selection& selection);

}  // namespace espalier::mpi
