#pragma once
// A communicator's process topology as one rank sees it: who sends to it, to whom it sends, and what both ends of an
// edge know of each other.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/calls/start.hpp"
#include "mpi/native/native.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {

/// How many neighbours MPI names to a rank, those that are nobody (MPI_PROC_NULL) counted; 0 without a process
/// topology.
struct Degrees {
  int in = 0;
  int out = 0;
};
Degrees degrees_of(MPI_Comm comm) noexcept;

/// Who they are, in that order; none without a process topology. Local.
struct NeighborLists {
  std::vector<int> sources, destinations;
};
NeighborLists list_neighbors(MPI_Comm comm);

/// Whether there is a process topology. Local, and equal on all ranks.
bool has_process_topology(MPI_Comm comm) noexcept;

/// Blocks are numbered as MPI names neighbours; those of nobody have no edge.
class Neighbors {
 public:
  /// An edge from this rank.
  struct Outgoing {
    Rank to;
    int block;
    int part, parts;  ///< of an alltoall's, as plan::Edge
  };
  /// An edge to this rank.
  struct Incoming {
    Rank from;
    int block;
    int their_block;
    int part, parts;
  };

  /// `common`: the largest degrees, as problems have them.
  Neighbors(Rank me, Degrees degrees, const plan::Problem& common, std::vector<Outgoing> out, std::vector<Incoming> in);

  Rank me() const { return me_; }
  const Degrees& degrees() const { return degrees_; }
  const std::vector<Outgoing>& out() const { return out_; }
  /// By source, and those of one source in the order in which it sends.
  const std::vector<Incoming>& in() const { return in_; }

  /// The blocks that have edges, each once: of an alltoall's sender, of a receiver.
  const std::vector<int>& sent_blocks() const { return sent_blocks_; }
  const std::vector<int>& received_blocks() const { return received_blocks_; }

  /// A problem of either operation with all edges of this rank, ready for sizes and places: those to others in the
  /// order of out(), then those of in(). Kept, so that a call need not make one.
  plan::Problem& problem(plan::Operation operation) {
    return problems_[operation == plan::Operation::neighbor_alltoall];
  }

 private:
  Rank me_;
  Degrees degrees_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
  std::vector<int> sent_blocks_, received_blocks_;
  std::array<plan::Problem, 2> problems_;
};

/// Finds that out, at a communicator's first neighbourhood collective: each rank tells each neighbour by which of its
/// edges it reaches it, by native's MPI_Ineighbor_alltoall, and all find the largest degrees and whether anybody has
/// none, or several edges to one rank, by MPI_Iallreduce. With several nodes and not too many edges all are told to
/// all, by MPI_Iallgather, so that blocks can travel in parcels.
///
/// Where a rank has several edges to another one, MPI 4.1, section 8.6 says which block comes by which: in a Cartesian
/// topology what goes down a dimension comes from above, so that block s is the receiver's s ^ 1 (in periodic
/// dimensions of one or two ranks, too: annex B.1.1 of MPI 4.0); in graphs the first comes by the first, and so on. Not
/// all native libraries do that (Open MPI 5.0's nonblocking forms, MPICH's on graphs), hence what is told says which
/// edge it is.
class NeighborsSetUp final : public Preparation {
 public:
  /// A communicator with a process topology, served by `communicator`, which gets to know its neighbours.
  NeighborsSetUp(Communicator& communicator, MPI_Comm comm) : communicator_(communicator), comm_(comm) {}

  /// Errors have been reported.
  std::optional<int> advance(bool is_next) noexcept override;

 private:
  /// What travels along an edge: the sender's block, its part and parts.
  using Told = std::array<int, 3>;

  int start();
  bool tells_all() const;
  int start_telling_all();
  std::shared_ptr<const plan::Crossing> find_crossing() const;
  void make_told();
  int count_far(const std::vector<int>& ranks) const;
  bool has_edges() const;
  bool has_single_edges() const;
  const Told& find_told(int block) const;
  int conclude();

  Communicator& communicator_;
  MPI_Comm comm_;
  bool has_started_ = false;
  bool is_cartesian_ = false;
  Degrees degrees_;
  std::vector<int> sources_, destinations_;
  std::vector<Told> told_, heard_;
  /// Of a rank and of all: degrees, less than nothing, since native is asked for a minimum; whether a rank has edges,
  /// and single ones.
  struct Common {
    int degree = 0, far_degree = 0, has_edges = 0, has_single_edges = 0;
  };
  static constexpr int common_ints = sizeof(Common) / sizeof(int);
  Common mine_, least_;
  std::array<MPI_Request, 2> requests_{};
  bool is_telling_all_ = false;
  std::vector<int> row_, rows_;  ///< destinations, of this rank and of all
};

}  // namespace espalier::mpi
