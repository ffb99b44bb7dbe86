#pragma once
// The collectives with MPI's arguments, before it is known who does them.

#include <optional>
#include <string>

#include "mpi/native.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {

struct Broadcast {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
};

struct Allgather {
  const void* send_buffer;
  MPI_Count send_count;
  MPI_Datatype send_type;
  void* receive_buffer;
  MPI_Count receive_count;
  MPI_Datatype receive_type;
  MPI_Comm comm;
};

struct Barrier {
  MPI_Comm comm;
};

/// The MPI return code when the call was handled (or failed for good: then the communicator's error handler was
/// called); empty when it must go to the native library, no data having moved. The branch is taken by agreed facts
/// only; but for arguments that MPI forbids, which native is to refuse. Throws std::bad_alloc.
std::optional<int> try_call(const Broadcast& call);
std::optional<int> try_call(const Allgather& call);
std::optional<int> try_call(const Barrier& call);

/// What a call would be on this communicator, for a person: "tiny", a choice, "native: reason". Local. The communicator
/// is known only after its first collective. Throws Error when it has no such root.
std::string describe_call(const plan::Problem& problem, MPI_Comm comm);

}  // namespace espalier::mpi
