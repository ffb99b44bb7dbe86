#pragma once
// From an MPI communicator to what we keep for it: the one place where its ranks agree with each other.

#include <memory>

#include "mpi/communicator.hpp"

namespace espalier::mpi {

/// A collective operation over `comm`, called by all its ranks at its first collective. Never null: what cannot be
/// handled gives a communicator that stays native, on every rank alike. Nothing of the caller's has moved yet.
///
///   1. gather the facts of all ranks           -> topology, or a refusal
///   2. on each node the lowest rank allocates  -> gather where the memory is, or why there is none
///   3. map it, fill the own part with pages    -> minimum over all ranks
///      (on the own NUMA node), try the system's single copy
///   4. with several nodes                      -> a private communicator for their messages, or UCX
///
/// No lock is held here, so several threads may set up different communicators at once. Cost: two allgathers, one
/// allreduce and perhaps one communicator of the native library, of some 120 bytes per rank.
std::unique_ptr<Communicator> set_up(MPI_Comm comm);

}  // namespace espalier::mpi
