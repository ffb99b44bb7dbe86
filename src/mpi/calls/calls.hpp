#pragma once
// The collectives with MPI's arguments, before it is known who does them. One file each in calls/.

#include <optional>
#include <string>

#include "mpi/buffers/side.hpp"
#include "mpi/native/native.hpp"
#include "plan/problem.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

struct Broadcast {
  Run data;
  int root;
  MPI_Comm comm;
};

/// Counts are those of one rank's block. Send is significant at the root only, receive may be MPI_IN_PLACE there.
struct Scatter {
  Run send;
  Run receive;
  int root;
  MPI_Comm comm;
};

struct Scatterv {
  Parts send;
  Run receive;
  int root;
  MPI_Comm comm;
};

/// Receive is significant at the root only, send may be MPI_IN_PLACE there.
struct Gather {
  Run send;
  Run receive;
  int root;
  MPI_Comm comm;
};

struct Gatherv {
  Run send;
  Parts receive;
  int root;
  MPI_Comm comm;
};

/// Here and below send may be MPI_IN_PLACE on all ranks.
struct Allgather {
  Run send;
  Run receive;
  MPI_Comm comm;
};

struct Allgatherv {
  Run send;
  Parts receive;
  MPI_Comm comm;
};

struct Alltoall {
  Run send;
  Run receive;
  MPI_Comm comm;
};

struct Alltoallv {
  Parts send;
  Parts receive;
  MPI_Comm comm;
};

struct Alltoallw {
  Pieces send;
  Pieces receive;
  MPI_Comm comm;
};

/// Neighbourhood collectives: one block to all neighbours and one from each, or one to each. Here counts and blocks are
/// those of neighbours, in the order in which MPI names them.
struct NeighborAllgather {
  Run send;
  Run receive;
  MPI_Comm comm;
};

struct NeighborAllgatherv {
  Run send;
  Parts receive;
  MPI_Comm comm;
};

struct NeighborAlltoall {
  Run send;
  Run receive;
  MPI_Comm comm;
};

struct NeighborAlltoallv {
  Parts send;
  Parts receive;
  MPI_Comm comm;
};

struct NeighborAlltoallw {
  Pieces send;
  Pieces receive;
  MPI_Comm comm;
};

/// Reduce, allreduce, scan, exscan: `count` elements of a vector. Reduce_scatter_block: of one rank's block.
struct Reduction {
  plan::Operation operation;
  const void* send;
  void* receive;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Op op;
  int root;  ///< reduce; otherwise 0
  MPI_Comm comm;
};

struct ReduceScatter {
  const void* send;
  void* receive;
  Numbers counts;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};

struct Barrier {
  MPI_Comm comm;
};

class Communicator;
class Start;

/// `communicator` is the call's, and one that Espalier serves. Returns the MPI return code when the call was handled
/// (or failed for good: then the communicator's error handler was called); empty when it must go to the native library,
/// no data having moved. The branch is taken by agreed facts only; but for arguments that MPI forbids, which native is
/// to refuse. Throws std::bad_alloc.
std::optional<int> try_call(Communicator& communicator, const Broadcast& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Scatter& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Scatterv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Gather& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Gatherv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Allgather& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Allgatherv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Alltoall& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Alltoallv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Alltoallw& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Reduction& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const ReduceScatter& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const Barrier& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const NeighborAllgather& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const NeighborAllgatherv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoall& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoallv& call, Start* start);
std::optional<int> try_call(Communicator& communicator, const NeighborAlltoallw& call, Start* start);

/// What a call would be on this communicator, for a person: "tiny", a choice, "native: reason"; behind it, which row of
/// the tuned table said so. `is_uneven`: its form with blocks of half the size and one and a half. Local. The
/// communicator is known only after its first collective. Throws Error when it has no such root.
std::string describe_call(plan::Problem problem, bool is_uneven, bool may_wait, MPI_Comm comm);

/// What native takes for such a blocking call of that communicator, and what it takes as it is done, where somebody has
/// compared: Engine::find_measured(). Local.
std::optional<tune::Measured> find_measured(const plan::Problem& problem, MPI_Comm comm);

/// What carries the communicator's messages between nodes: "mpi", "ucx", or nothing where there are none or all calls
/// are native. Local. Known only after its first collective.
std::string describe_transport(MPI_Comm comm);

/// From now on calls of `operation` on this communicator follow `selection` (selection.hpp); an empty text undoes that.
/// Collective. Throws Error when the text is none.
void choose(plan::Operation operation, const std::string& selection, MPI_Comm comm);

}  // namespace espalier::mpi
