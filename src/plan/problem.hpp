#pragma once
// What is to be done, in terms that all ranks agree on.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace espalier::plan {

enum class Operation : std::uint8_t {
  broadcast,
  scatter,
  gather,
  allgather,
  alltoall,
  reduce,
  allreduce,
  reduce_scatter,
  scan,
  exscan,
  barrier,
  neighbor_allgather,
  neighbor_alltoall,
};
inline constexpr int operation_count = 13;

/// One message of a neighbourhood collective (MPI 4.1, section 8.6): an edge of the graph that the communicator's
/// process topology is. A rank may have several edges to another one, and some to itself.
struct Edge {
  Rank from;
  Rank to;
  Bytes bytes = 0;
  Bytes input_begin = 0;   ///< in what `from` brings; stretches may overlap
  Bytes output_begin = 0;  ///< in what `to` gets; stretches do not overlap
  /// What `from` shows its node is in so many parts of its window, and this edge's in that one. Both ends know that, so
  /// that a part is found without knowing how long others are. Edges of one stretch share a part.
  int part = 0;
  int parts = 1;

  bool operator==(const Edge&) const = default;
};

/// The edges between nodes, for those who let one message carry all that one node has for another.
struct Crossing {
  struct Edge {
    Rank from;
    Rank to;

    bool operator==(const Edge&) const = default;
  };
  /// By sender, and those of one sender in the order in which it names them. All that begin or end on the nodes of the
  /// ranks whose programs are built.
  std::vector<Edge> edges;

  // What all ranks agree on, of all edges that there are, in blocks of an alltoall or of an allgather:
  struct Most {
    int parcels = 0;  ///< that one node sends or gets
    int blocks = 0;   ///< in all parcels together that one node sends or gets
    int parcel = 0;   ///< blocks in one

    bool operator==(const Most&) const = default;
  } alltoall, allgather;

  bool operator==(const Crossing&) const = default;
};

/// Whether a rank's data go along edges of a graph.
constexpr bool has_edges(Operation operation) {
  return operation == Operation::neighbor_allgather || operation == Operation::neighbor_alltoall;
}

/// One collective call, free of MPI: data are bytes, already packed. Equal on all ranks.
struct Problem {
  Operation operation = Operation::barrier;
  /// What one rank brings to or takes from one other: the message (broadcast), the vector (reduce, allreduce, scan,
  /// exscan), or the block of one rank (scatter, gather, allgather, reduce_scatter) or of one pair of ranks (alltoall).
  /// With `counts` their mean, rounded up: a size for tables. Barrier: 0. Neighbourhood collectives: of every edge; 0
  /// where edges differ, since nobody knows all.
  Bytes bytes = 0;
  /// Broadcast, scatter, gather, reduce. Otherwise rank 0.
  Rank root{0};
  /// Reductions: size of one element; all sizes are multiples of it.
  Bytes element = 1;
  /// Reductions: operands may change places. They are always associative (MPI 4.0, section 6.9.1).
  bool is_commutative = true;
  /// The v-forms of scatter, gather, allgather, reduce_scatter: bytes of each rank's block. Alltoall: bytes from rank i
  /// to rank j at [i * ranks + j]. Empty: all are `bytes`.
  std::vector<Bytes> counts = {};
  /// Reductions that commute: a o b has the bits of b o a (NaN, zeros of both signs). Where that is not certain, ranks
  /// that need the same result combine it in the same order, whichever that is.
  bool is_symmetric = true;
  /// Reductions: another order of operands, or other pairs of them, may give other bits (sums of floating-point
  /// numbers, operations of the program). Programs are the same; but one run does not change from one to another.
  bool depends_on_order = false;
  /// Neighbourhood collectives: all edges from and to the ranks whose programs are built. One after the other in the
  /// order in which a rank sends to another, where it has several edges to it.
  std::vector<Edge> edges = {};
  /// The most edges from one rank, or to one, that there are; and of those, the most between nodes.
  int degree = 0;
  int far_degree = 0;
  /// What all ranks agree on, too: each has an edge, and hence knows `bytes`; no rank has several edges to another, of
  /// which not all libraries take the same to bring the same block (mpi/setup/neighbors.hpp).
  bool reaches_all = false;
  bool has_single_edges = false;
  /// Null where nobody has told all edges, or none crosses. Equal problems share it.
  std::shared_ptr<const Crossing> crossing = nullptr;

  bool operator==(const Problem& other) const {
    // Asked in every call: what differs most often comes first, and only who goes along edges has a graph.
    return operation == other.operation && bytes == other.bytes && root == other.root && element == other.element &&
           is_commutative == other.is_commutative && is_symmetric == other.is_symmetric &&
           depends_on_order == other.depends_on_order && counts == other.counts &&
           (!has_edges(operation) || has_graph_of(other));
  }

  /// Whether one rank may find a o b where another finds b o a.
  bool may_swap() const { return is_commutative && is_symmetric; }

 private:
  bool has_graph_of(const Problem& other) const {
    return edges == other.edges && degree == other.degree && far_degree == other.far_degree &&
           reaches_all == other.reaches_all && has_single_edges == other.has_single_edges && crossing == other.crossing;
  }
};

constexpr bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::scatter || operation == Operation::gather ||
         operation == Operation::reduce;
}
constexpr bool is_reduction(Operation operation) {
  return operation >= Operation::reduce && operation <= Operation::exscan;
}

/// Whether each of a rank's blocks is for one other rank: what it writes is a message for each.
constexpr bool has_single_readers(Operation operation) {
  return operation == Operation::scatter || operation == Operation::alltoall ||
         operation == Operation::reduce_scatter || operation == Operation::neighbor_alltoall;
}

/// Payload of one short message at most (execute/lines/tiny.hpp): 74 cache lines of 56 bytes.
inline constexpr Bytes tiny_bytes = 4144;

/// Whether the problem, on one node of `ranks`, may take the dedicated path of execute/lines/tiny.hpp instead of a
/// program: all that one rank writes fits one short message. Blocks for single readers take whole lines each. Of the
/// v-forms only those whose sizes all ranks know from their arguments: allgather, reduce_scatter.
bool is_tiny(const Problem& problem, int ranks);

const char* name(Operation operation);

/// Accepts the names ("broadcast") and MPI's short forms ("bcast", "reduce_scatter_block"). Throws Error listing them.
Operation parse_operation(std::string_view text);

/// Sizes of the two buffers that a rank brings to a problem, in bytes. Buffers that MPI ignores have none: the input of
/// a scatter and the output of a gather or reduce elsewhere than at the root, the output of an exscan at rank 0.
Bytes input_bytes(const Problem& problem, int ranks, Rank rank);
Bytes output_bytes(const Problem& problem, int ranks, Rank rank);

/// Where the buffers of a rank overlap under MPI_IN_PLACE.
struct Alias {
  enum Kind : std::uint8_t { none, input_in_output, output_in_input };
  Kind kind = none;
  /// Where in the larger buffer the other one begins.
  Bytes offset = 0;
};

/// Programs must allow for this. Alltoall and reduce_scatter have none: whoever calls them in place copies first. Nor
/// have neighbourhood collectives, which MPI does not allow in place.
Alias alias_of(const Problem& problem, int ranks, Rank rank);

}  // namespace espalier::plan
