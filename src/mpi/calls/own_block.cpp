#include "mpi/calls/own_block.hpp"

#include "mpi/calls/counts.hpp"

namespace espalier::mpi {

std::optional<int> serve_blocks(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Run& own, const Side* all, Start* start) {
  if (!is_own_valid(own, all != nullptr)) return refuse_arguments(operation);
  const int me = communicator.rank();
  const Side mine = find_own(own, all, me);
  if (mine.is_missing() || (all != nullptr && all->is_missing())) return refuse_arguments(operation);
  const bool has_both = all != nullptr && own.buffer != MPI_IN_PLACE;
  if (has_both && is_forbidden_alias(mine, *all, me)) return refuse_arguments(operation);
  // Who sends names the size: ranks with more room than is sent to them still agree. Nothing names none: others would
  // be in a call that this rank does not make.
  const bool names_all = has_both && (operation == plan::Operation::scatter || mine.bytes() == 0);
  const Bytes bytes = names_all ? all->block_bytes(me) : mine.bytes();
  Sides sides = sides_of(operation, all, &mine);
  sides.differ = has_both && mine.bytes() != all->block_bytes(me);
  return serve(communicator, comm, {operation, bytes, Rank(root)}, sides, start);
}

std::optional<int> serve_uneven(Communicator& communicator, MPI_Comm comm, plan::Operation operation, int root,
                                const Side& own, const Side* all, std::vector<Bytes> sizes, Start* start) {
  Sides sides = sides_of(operation, all, &own);
  sides.differ = own.bytes() != sizes[static_cast<std::size_t>(communicator.rank())];
  const plan::Problem problem = make_uneven(operation, root, std::move(sizes));
  if (start == nullptr) communicator.engine()->overlook(problem);
  return serve(communicator, comm, problem, sides, start);
}

}  // namespace espalier::mpi
