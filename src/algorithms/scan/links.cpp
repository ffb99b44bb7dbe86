// Scan and exscan: a chain of all ranks in rank order, through cells between neighbours and by messages between nodes,
// piece by piece; works for every placement. For short vectors on many nodes: doubling.cpp.
//
//   rank 0 ──v0──► rank 1 ──v0 o v1──► rank 2 ──► …       each rank adds its own and hands on
//
// On one node everyone may read all lower ranks' cells instead (gather_reduce): one synchronisation for short vectors.

#include <algorithm>
#include <deque>

#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/scan/prefixes.hpp"
#include "algorithms/words.hpp"
#include "smp/operations.hpp"
#include "smp/reduce/apart.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

using plan::Flag;

namespace {

/// Pieces under way between two nodes.
constexpr std::size_t messages_ahead = 4;

using smp::tick;

/// One rank's link of the chain. Prefixes arrive from the rank before, at the next piece's tick of its `ready` or in a
/// slot of scratch; they leave from the own window or from a second slot.
class Link {
 public:
  Link(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        cells_(smp::cells_of(smp::Grain(problem), choice)),
        is_exclusive_(problem.operation == Operation::exscan) {
    builder.need_scratch(2 * messages_ahead * cells_.bytes);
  }

  void build() {
    const int pieces = static_cast<int>((problem_.bytes + cells_.bytes - 1) / cells_.bytes);
    for (int piece = 0; piece < pieces; ++piece) {
      receive_ahead(piece, pieces);
      if (is_exclusive_)
        pass_exclusive(piece);
      else
        pass_inclusive(piece);
    }
    for (const std::uint32_t slot : sends_) builder_.finish(slot);
  }

 private:
  bool has_previous() const { return builder_.me().value > 0; }
  bool has_next() const { return builder_.me().value + 1 < builder_.topology().ranks(); }
  Rank previous() const { return Rank(builder_.me().value - 1); }
  Rank next() const { return Rank(builder_.me().value + 1); }
  bool is_neighbour(Rank rank) const { return builder_.topology().node_of(rank) == builder_.node(); }
  LocalRank local(Rank rank) const { return builder_.topology().local_rank(rank); }

  Bytes begin(int piece) const { return static_cast<Bytes>(piece) * cells_.bytes; }
  Bytes bytes(int piece) const { return std::min(cells_.bytes, problem_.bytes - begin(piece)); }
  Bytes arrival(int piece) const { return static_cast<Bytes>(piece) % messages_ahead * cells_.bytes; }
  Bytes departure(int piece) const { return messages_ahead * cells_.bytes + arrival(piece); }

  void receive_ahead(int piece, int pieces) {
    if (!has_previous() || is_neighbour(previous())) return;
    for (; posted_ < pieces && posted_ < piece + static_cast<int>(messages_ahead); ++posted_)
      receives_.push_back(builder_.recv(previous(), Buffer::scratch, arrival(posted_), bytes(posted_)));
  }

  /// The previous ranks' prefix is there to be read.
  void await_prefix(int piece) {
    if (!has_previous()) return;
    if (is_neighbour(previous())) return builder_.await(local(previous()), Flag::ready, tick(piece));
    builder_.finish(receives_.front());
    receives_.pop_front();
  }
  void add_prefix(int piece, Buffer into, Bytes offset) {
    if (!has_previous()) return;
    if (is_neighbour(previous()))
      builder_.reduce(local(previous()), cells_.offset(piece), into, offset, bytes(piece));
    else
      builder_.reduce(Buffer::scratch, arrival(piece), into, offset, bytes(piece));
  }
  void copy_prefix(int piece) {
    if (!has_previous()) return;
    if (is_neighbour(previous()))
      smp::receiver_get(builder_, cells_, local(previous()), piece, 0, {Buffer::output, begin(piece), bytes(piece)});
    else
      builder_.copy(Buffer::scratch, arrival(piece), Buffer::output, begin(piece), bytes(piece));
  }
  void release_prefix(int piece) {
    if (has_previous() && is_neighbour(previous())) smp::taken_post(builder_, piece);
  }

  /// The next rank has read what was last in the cell of this piece.
  void await_cell(int piece) {
    builder_.claim_window();
    if (piece >= cells_.count) builder_.await(local(next()), Flag::taken, tick(piece - cells_.count));
  }

  void send(int piece, Buffer buffer, Bytes offset) {
    if (sends_.size() == messages_ahead) {
      builder_.finish(sends_.front());
      sends_.pop_front();
    }
    sends_.push_back(builder_.send(next(), buffer, offset, bytes(piece)));
  }

  void pass_inclusive(int piece) {
    builder_.copy(Buffer::input, begin(piece), Buffer::output, begin(piece), bytes(piece));
    await_prefix(piece);
    add_prefix(piece, Buffer::output, begin(piece));
    release_prefix(piece);
    if (!has_next()) return;
    if (!is_neighbour(next())) return send(piece, Buffer::output, begin(piece));
    await_cell(piece);
    builder_.put(Buffer::output, begin(piece), bytes(piece), cells_.offset(piece));
    builder_.post(Flag::ready, tick(piece));
  }

  /// The own operand goes into what is handed on before the prefix overwrites it in place.
  void pass_exclusive(int piece) {
    const bool through_cells = has_next() && is_neighbour(next());
    const bool by_message = has_next() && !through_cells;
    if (through_cells) {
      await_cell(piece);
      builder_.put(Buffer::input, begin(piece), bytes(piece), cells_.offset(piece));
    }
    if (by_message) {
      if (sends_.size() == messages_ahead) {
        builder_.finish(sends_.front());
        sends_.pop_front();
      }
      builder_.copy(Buffer::input, begin(piece), Buffer::scratch, departure(piece), bytes(piece));
    }
    await_prefix(piece);
    if (through_cells) {
      add_prefix(piece, Buffer::window, cells_.offset(piece));
      builder_.post(Flag::ready, tick(piece));
    }
    if (by_message) {
      add_prefix(piece, Buffer::scratch, departure(piece));
      send(piece, Buffer::scratch, departure(piece));
    }
    copy_prefix(piece);
    release_prefix(piece);
  }

  Builder& builder_;
  const Problem& problem_;
  smp::Cells cells_;
  bool is_exclusive_;
  int posted_ = 0;
  std::deque<std::uint32_t> receives_;
  std::deque<std::uint32_t> sends_;
};

}  // namespace

void build_chain_of_ranks(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) Link(builder, problem, choice).build();
}

void build_folded_scan(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  const int last = builder.me().value - (problem.operation == Operation::exscan ? 1 : 0);
  smp::reduce_apart(builder, problem, choice, last);
}

std::string limits_of_chain_of_ranks(const topology::Topology&, const Problem& problem, const Choice& choice) {
  if (choice.within == plan::Within::single_copy) return "prefixes go through cells";
  if (const Bytes least = smp::Grain(problem).bytes(); choice.cell < least)
    return "a cell must hold " + std::to_string(least) + " bytes at least: whole, aligned elements";
  return "";
}

std::string limits_of_folded_scan(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (topology.nodes() > 1) return "every rank folding everything is for one node";
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::algorithms
