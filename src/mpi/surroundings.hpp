#pragma once
// What differs between a real machine and a simulated one: how a rank waits, how time passes, where it sits. Two
// sources implement this, and each build has one: surroundings.cpp and simulated/surroundings.cpp.

#include <memory>

#include "execute/seams.hpp"
#include "mpi/native.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

class Library;
struct Facts;

/// Gives other ranks a chance, between two looks at something that the native library does.
void let_others_run() noexcept;

/// Corrects what was probed of the machine where that is not the one that the job runs on.
void disguise(Facts& facts);

/// How this rank waits, as the settings say. `library`, and `network` (null on one node), outlive it.
std::unique_ptr<execute::Waiter> make_waiter(Library& library, bool is_oversubscribed, execute::Network* network);

/// Messages through MPI, on a communicator that it takes over.
std::unique_ptr<execute::Network> make_message_network(MPI_Comm comm);

/// Null where time is real. The topology is copied.
std::unique_ptr<execute::Meter> make_meter(const topology::Topology& topology, Rank me);

}  // namespace espalier::mpi
