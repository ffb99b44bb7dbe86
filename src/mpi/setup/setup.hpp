#pragma once
// From an MPI communicator to what we keep for it: the one place where its ranks agree with each other.

#include <memory>

#include "mpi/process/communicator.hpp"

namespace espalier::mpi {

/// A collective operation over `comm`, called by all its ranks in the same one of its collectives. Never null: what
/// cannot be handled gives a communicator that stays native, on every rank alike. Nothing of the caller's has moved
/// yet.
///
///   1. who the members are: known since MPI_Init (mpi/setup/world.hpp)     -> topology, or a refusal; no message
///   2. on each node the lowest rank allocates the desks              -> gather where they are, or why there are none
///   3. with several nodes: tags for messages, or UCX
///
/// Where MPI began without us (sessions, some Fortran bindings), the members' facts are gathered first, their memory is
/// tried, and with several nodes a private communicator is created.
///
/// No lock is held here, and no communicator is created where the world has met, so several threads may set up
/// different communicators while others create and free some. Cost: one allgather of the native library, of 16 bytes
/// per rank; two more rounds, of some 200 bytes, where the world has not met.
std::unique_ptr<Communicator> set_up(MPI_Comm comm);

/// The same in steps that wait for nobody, for calls that must not wait.
class GradualSetUp {
 public:
  /// Null where members have more to tell each other than offers, so that only a call that waits can set up: the world
  /// has not met, a fabric's distances or UCX's addresses are to be exchanged. Null on all ranks alike. Local.
  static std::unique_ptr<GradualSetUp> begin(MPI_Comm comm);
  ~GradualSetUp();

  /// Null: not yet, ask again.
  std::unique_ptr<Communicator> advance();

 private:
  struct State;
  explicit GradualSetUp(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::mpi
