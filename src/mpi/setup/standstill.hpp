#pragma once
// What a rank says of its communicator once it has waited for longer than ESPALIER_WATCHDOG allows.

#include <cstdint>

#include "mpi/run/watch.hpp"

namespace espalier::mpi {

/// To stderr, if it is this rank's turn: of those on the host that wait in the same call, the lowest speaks for all.
/// Throws std::exception where nothing can be seen.
void tell_of_standstill(std::uint32_t community, const Situation& at);

}  // namespace espalier::mpi
