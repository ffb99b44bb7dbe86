#pragma once
// How the ranks of a communicator come to know, all the same, how far its nodes are apart.

#include "mpi/native/abi.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

/// Rank 0 finds out (ESPALIER_FABRIC) and tells all. When nobody can tell, and rank 0 says so, or when nobody is to be
/// asked, nodes are told apart by the rates of their NICs, which all ranks know. All ranks call it, with equal
/// topologies of several nodes. Throws NativeFailure.
topology::Distances agree_on_distances(MPI_Comm comm, Rank me, const topology::Topology& topology);

}  // namespace espalier::mpi
