// Scatter and gather: at the root the blocks of all ranks, everywhere a rank's own. The two differ in which side goes
// in.

#include <utility>

#include "mpi/calls/counts.hpp"
#include "mpi/calls/own_block.hpp"
#include "mpi/calls/uneven_blocks.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;

/// With equal blocks.
std::optional<int> try_rooted(Operation operation, Communicator& communicator, MPI_Comm comm, int root, const Run& all,
                              const Run& own, Start* start) {
  const int ranks = communicator.ranks();
  if (root < 0 || root >= ranks) return refuse_arguments(operation);
  if (communicator.rank() != root) return serve_blocks(communicator, comm, operation, root, own, nullptr, start);
  if (!is_valid(all)) return refuse_arguments(operation);
  const Side blocks(all, ranks);
  return serve_blocks(communicator, comm, operation, root, own, &blocks, start);
}

/// Whether MPI allows this rank's arguments of a v-form.
bool are_allowed(const Communicator& communicator, int root, const Parts& all, const Run& own) {
  const bool is_root = communicator.rank() == root;
  return (!is_root || is_valid(all, communicator.ranks())) && is_own_valid(own, is_root);
}

/// The sides of such a call; null where MPI ignores them, or where the data are nowhere.
class RootedSides {
 public:
  RootedSides(const Communicator& communicator, int root, const Parts& all, const Run& own)
      : is_in_place_(own.buffer == MPI_IN_PLACE), me_(communicator.rank()) {
    if (me_ == root) keep(all_, Side(all, communicator.ranks()));
    if (!is_in_place_ || all_) keep(own_, find_own(own, this->all(), me_));
  }
  const Side* all() const { return address_of(all_); }
  const Side* own() const { return address_of(own_); }
  bool are_missing() const { return are_missing_; }
  bool are_forbidden() const {
    if (refuses_missing && are_missing_) return true;
    return all_ && own_ && !is_in_place_ && is_forbidden_alias(*own_, *all_, me_);
  }
  Sides both(Operation operation) const {
    Sides sides = sides_of(operation, all(), own());
    sides.are_missing = are_missing_;
    return sides;
  }

 private:
  /// Unless its data are nowhere.
  void keep(std::optional<Side>& kept, const Side& side) {
    if (side.is_missing())
      are_missing_ = true;
    else
      kept.emplace(side);
  }

  bool is_in_place_;
  int me_;
  std::optional<Side> all_, own_;
  bool are_missing_ = false;
};

/// With sizes that all know.
std::optional<int> serve_known(Operation operation, Communicator& communicator, MPI_Comm comm, int root,
                               const RootedSides& sides, std::vector<Bytes> sizes, Start* start) {
  if (!are_known(sizes) || sides.own() == nullptr) return refuse_unknown(comm, operation, sides.are_missing());
  return serve_uneven(communicator, comm, operation, root, *sides.own(), sides.all(), std::move(sizes), start);
}

/// With blocks that were too long for the short way. `sizes`: of all blocks, if the root has told them already.
std::optional<int> share_and_serve(Operation operation, Communicator& communicator, MPI_Comm comm, int root,
                                   const RootedSides& sides, std::vector<Bytes> sizes) {
  if (communicator.engine()->decider().leaves_long_blocks(operation)) return leave_uneven(communicator, operation);
  if (sizes.empty()) {
    sizes = sizes_of(sides.all(), communicator.ranks());
    if (const int failed = share_sizes(communicator, comm, root, sizes); failed != MPI_SUCCESS) return failed;
  }
  return serve_known(operation, communicator, comm, root, sides, std::move(sizes), nullptr);
}

/// Nothing where a look at the sides is due.
std::optional<UnevenAttempt> try_ready(Operation operation, Communicator& communicator, MPI_Comm comm, int root,
                                       const Parts& all, const Run& own) {
  const Bytes longest = longest_uneven(communicator, operation);
  const bool is_root = root == communicator.rank();
  ReadyBlocks blocks, block;
  if (longest == 0 || !block.take(own, longest)) return std::nullopt;
  if (is_root && !blocks.take(all, communicator.ranks(), longest)) return std::nullopt;
  if (is_root && refuses_aliases && own.type == all.type && block.is_block_of(blocks, root)) return std::nullopt;
  const ReadyBlocks* const whole = is_root ? &blocks : nullptr;
  const bool deals = operation == Operation::scatter;
  return run_ready_blocks(communicator, comm, operation, root, deals ? whole : &block, deals ? &block : whole);
}

std::optional<int> try_rooted(Operation operation, Communicator& communicator, MPI_Comm comm, int root,
                              const Parts& all, const Run& own, Start* start) {
  if (root < 0 || root >= communicator.ranks()) return refuse_arguments(operation);
  if (communicator.ranks() > most_exchanging_ranks) return leave(operation, too_many_ranks);
  std::optional<UnevenAttempt> attempt;
  if (start == nullptr) attempt = try_ready(operation, communicator, comm, root, all, own);
  if (attempt && attempt->is_over) return attempt->code;
  const plan::Call made = {operation, plan::BlockSizes::counts, plan::CallForm::blocking, root};
  const ToldAs shown(&made);
  if (!are_allowed(communicator, root, all, own)) return refuse_arguments(operation);
  const RootedSides sides(communicator, root, all, own);
  if (sides.are_forbidden()) return refuse_arguments(operation);
  if (start != nullptr)
    return share_sizes_first(communicator, operation, root, sizes_of(sides.all(), communicator.ranks()), *start,
                             [=, &communicator](std::vector<Bytes> sizes) {
                               return serve_known(operation, communicator, comm, root,
                                                  RootedSides(communicator, root, all, own), std::move(sizes), start);
                             });
  if (!attempt) attempt = try_uneven_blocks(communicator, comm, operation, root, sides.both(operation));
  if (attempt->is_over) return attempt->code;
  return share_and_serve(operation, communicator, comm, root, sides, std::move(attempt->sizes));
}

}  // namespace

std::optional<int> try_call(Communicator& communicator, const Scatter& call, Start* start) {
  return try_rooted(Operation::scatter, communicator, call.comm, call.root, call.send, call.receive, start);
}

std::optional<int> try_call(Communicator& communicator, const Scatterv& call, Start* start) {
  return try_rooted(Operation::scatter, communicator, call.comm, call.root, call.send, call.receive, start);
}

std::optional<int> try_call(Communicator& communicator, const Gather& call, Start* start) {
  return try_rooted(Operation::gather, communicator, call.comm, call.root, call.receive, call.send, start);
}

std::optional<int> try_call(Communicator& communicator, const Gatherv& call, Start* start) {
  return try_rooted(Operation::gather, communicator, call.comm, call.root, call.receive, call.send, start);
}

}  // namespace espalier::mpi
