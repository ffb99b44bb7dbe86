#pragma once
// What differs between a real machine and a simulated one: how a rank waits, how time passes, where it sits. Two
// sources implement this, and each build has one: surroundings.cpp and simulated/surroundings.cpp.

#include <memory>
#include <string>

#include "base/waiting.hpp"
#include "execute/seams.hpp"
#include "mpi/native/native.hpp"
#include "mpi/setup/network_map.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

class Library;
class Watch;
struct Facts;

/// Gives other ranks a chance, between two looks at something that the native library does.
void let_others_run() noexcept;

/// Whether a rank that waits for a native call does so in MPI_Wait: nothing else of this process may need it meanwhile,
/// nor begin to, and the MPI's own waiting leaves cores to others better than asking again and again does.
bool may_wait_inside() noexcept;

/// Something is queued that may go on while the program computes, if somebody sees to it: true if somebody does at once
/// (ProgressThread::wake()).
bool wake_helper() noexcept;

/// The native library's MPI_Iallgather of `bytes` each, and MPI_Iallreduce for the least of each of some numbers. In a
/// simulation they are over when they return. MPI's error codes.
int start_gather(const void* mine, void* all, int bytes, MPI_Comm comm, MPI_Request* request) noexcept;
int start_minimum(const int* mine, int* least, int count, MPI_Comm comm, MPI_Request* request) noexcept;

/// Whether what the program starts, completes and frees requests with, MPI_Wait and its like, passes through this
/// library. Where another one stands in front of it, requests of ours would never be complete.
bool sees_completion() noexcept;

/// Corrects what was probed of the machine where that is not the one that the job runs on.
void disguise(Facts& facts);

/// This process's host as whoever knows the network calls it. Throws Error where it has no name.
std::string probe_own_host(const Library& library);
/// How far hosts are apart: what the topology service says (ESPALIER_FABRIC), or the simulated network. Throws Error
/// when nobody can tell.
topology::Distances ask_for_distances(Library& library, const Hosts& hosts);

/// How this rank waits in collectives on `comm`, as the settings say. `library`, `watch` and `network` (null on one
/// node) outlive it.
std::unique_ptr<execute::Waiter> make_waiter(Library& library, MPI_Comm comm, Waiting scheme, bool is_oversubscribed,
                                             Watch& watch, execute::Network* network);

/// Messages through MPI, on a communicator that it takes over.
std::unique_ptr<execute::Network> make_message_network(MPI_Comm comm, int ranks, int me);

/// Null where time is real. The topology is copied.
std::unique_ptr<execute::Meter> make_meter(const topology::Topology& topology, Rank me);

}  // namespace espalier::mpi
