// Prefixes by doubling (Hillis and Steele 1986): in round k everyone sends what it has summed up 2^k places on, so that
// a sum reaches back 1, 2, 4, … places, and collects what came as the prefix of all before it:
//
//     place       0       1       2       3       4
//     sum         0       1       2       3       4
//     round 0       ──►     ──►     ──►     ──►         sum 01, 12, 23, 34; before 0, 1, 2, 3
//     round 1       ─────────►  ──────────►             sum 0-3 at 3, 1-4 at 4; before 01 at 2, 0-2 at 3, 123 at 4
//     round 2       ──────────────────────────►         before 0-3 at 4
//
// Where nodes hold consecutive ranks, places are nodes. The last rank of a node speaks: it has the node's sum, and
// nobody below it reads its cell, so that this can carry the prefix of the nodes before to everyone. Elsewhere places
// are ranks: neighbours read each other's cells (one for each round), others get messages.

#include "algorithms/scan/prefixes.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/words.hpp"
#include "cost/network_time.hpp"
#include "smp/operations.hpp"
#include "smp/reduce/fold.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

using plan::Flag;
using smp::Cells;
using smp::Range;

namespace {

/// What lies where in scratch, and behind that what folding needs.
struct Room {
  Bytes stretch;

  Bytes sum() const { return 0; }
  Bytes before() const { return stretch; }
  /// What came in a round is still read while the next round's is under way.
  Bytes arrival(int round) const { return (2 + static_cast<Bytes>(round % 2)) * stretch; }
  Bytes end() const { return 4 * stretch; }
};

using smp::tick;

/// What one place sums up of all operands before its own, stretch by stretch.
class Rounds {
 public:
  Rounds(Builder& builder, const Room& room, const Cells& cells)
      : builder_(builder),
        topology_(builder.topology()),
        room_(room),
        cells_(cells),
        place_(topology_.is_blocked() ? builder.node().value : builder.me().value),
        places_(topology_.is_blocked() ? topology_.nodes() : topology_.ranks()) {}

  bool is_first() const { return place_ == 0; }

  /// The own operand lies at room.sum() and is lost; the result comes to lie at room.before(), but for the first place.
  void run(int piece, Bytes bytes) {
    piece_ = piece, bytes_ = bytes;
    int round = 0;
    for (int distance = 1; distance < places_; distance *= 2, ++round) {
      if (place_ >= distance) expect(round);
      if (place_ + distance < places_) send(round);
      if (round > 0) collect(round - 1);  // while messages are under way
      finish(round);
      if (place_ >= distance && place_ + 2 * distance < places_) add(round, room_.sum());
    }
    collect(round - 1);
  }

 private:
  int left(int round) const { return place_ - (1 << round); }
  int right(int round) const { return place_ + (1 << round); }
  Rank rank_at(int place) const {
    return topology_.is_blocked() ? topology_.ranks_on(NodeId(place)).back() : Rank(place);
  }
  bool is_neighbour(int place) const { return topology_.node_of(rank_at(place)) == builder_.node(); }
  LocalRank local(int place) const { return topology_.local_rank(rank_at(place)); }
  std::uint64_t tick_of(int round) const { return tick(piece_ * cells_.count + round); }

  void expect(int round) {
    if (!is_neighbour(left(round)))
      under_way_.push_back(builder_.recv(rank_at(left(round)), Buffer::scratch, room_.arrival(round), bytes_));
  }

  /// To a neighbour through the cell of the round.
  void send(int round) {
    if (!is_neighbour(right(round)))
      return under_way_.push_back(builder_.send(rank_at(right(round)), Buffer::scratch, room_.sum(), bytes_));
    builder_.claim_window();
    if (piece_ > 0) smp::await_taken(builder_, local(right(round)), piece_ - 1);
    builder_.put(Buffer::scratch, room_.sum(), bytes_, cells_.offset(round));
    builder_.post(Flag::ready, tick_of(round));
  }

  /// What was expected has come, and what was sent may be overwritten.
  void finish(int round) {
    if (left(round) >= 0 && is_neighbour(left(round))) builder_.await(local(left(round)), Flag::ready, tick_of(round));
    for (const std::uint32_t slot : under_way_) builder_.finish(slot);
    under_way_.clear();
  }

  /// What came in the round, to the left of what lies at `at` of scratch.
  void add(int round, Bytes at) {
    if (is_neighbour(left(round)))
      builder_.reduce(local(left(round)), cells_.offset(round), Buffer::scratch, at, bytes_);
    else
      builder_.reduce(Buffer::scratch, room_.arrival(round), Buffer::scratch, at, bytes_);
  }

  void collect(int round) {
    if (left(round) < 0) return;
    if (round > 0) return add(round, room_.before());
    if (is_neighbour(left(round)))
      builder_.get(local(left(round)), cells_.offset(round), Buffer::scratch, room_.before(), bytes_);
    else
      builder_.copy(Buffer::scratch, room_.arrival(round), Buffer::scratch, room_.before(), bytes_);
  }

  Builder& builder_;
  const topology::Topology& topology_;
  const Room& room_;
  const Cells& cells_;
  int place_;
  int places_;
  int piece_ = 0;
  Bytes bytes_ = 0;
  std::vector<std::uint32_t> under_way_;
};

class DoublingScan {
 public:
  DoublingScan(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        cells_(smp::cells_of(smp::Grain(problem), choice)),
        room_{std::min(cells_.bytes, smp::Grain(problem).round_up(problem.bytes))},
        rounds_(builder, room_, cells_),
        fold_(builder, problem, smp::Fold::Source::cells, room_.stretch, room_.end()) {
    builder.need_scratch(room_.end() + smp::Fold::scratch_bytes(room_.stretch));
  }

  void build() {
    const int pieces = static_cast<int>((problem_.bytes + cells_.bytes - 1) / cells_.bytes);
    for (int piece = 0; piece < pieces; ++piece) {
      const Bytes begin = static_cast<Bytes>(piece) * cells_.bytes;
      build_piece(piece, {Buffer::input, begin, std::min(cells_.bytes, problem_.bytes - begin)});
      if (builder_.node_size() > 1) smp::taken_post(builder_, piece);
    }
  }

 private:
  void build_piece(int piece, const Range& own) {
    if (!builder_.topology().is_blocked()) return double_alone(piece, own);
    builder_.local() == speaker() ? speak(piece, own) : listen(piece, own);
  }

  bool is_exclusive() const { return problem_.operation == Operation::exscan; }
  LocalRank speaker() const { return LocalRank(builder_.node_size() - 1); }
  static Range result(const Range& own) { return {Buffer::output, own.offset, own.bytes}; }

  void double_alone(int piece, const Range& own) {
    builder_.copy(Buffer::input, own.offset, Buffer::scratch, room_.sum(), own.bytes);
    if (!is_exclusive()) builder_.copy(Buffer::input, own.offset, Buffer::output, own.offset, own.bytes);
    rounds_.run(piece, own.bytes);
    add_before(own, !is_exclusive());
  }

  void listen(int piece, const Range& own) {
    smp::await_free_cell(builder_, cells_, piece);
    smp::sender_put(builder_, cells_, piece, own);
    builder_.post(Flag::ready, tick(piece));
    const int last = last_below();
    for (int rank = last; rank >= 0; --rank)
      if (LocalRank(rank) != builder_.local()) builder_.await(LocalRank(rank), Flag::ready, tick(piece));
    if (last >= 0) fold_.run(last, own.offset, cells_.offset(piece), result(own));
    if (rounds_.is_first()) return;
    builder_.await(speaker(), Flag::ready, tick(piece));
    if (last >= 0)
      builder_.reduce(speaker(), cells_.offset(piece), Buffer::output, own.offset, own.bytes);
    else
      smp::receiver_get(builder_, cells_, speaker(), piece, 0, result(own));
  }

  /// The output may be the input: of an exscan, the own operand is put aside before that is written.
  void speak(int piece, const Range& own) {
    const int last = last_below();
    if (is_exclusive()) builder_.copy(Buffer::input, own.offset, Buffer::scratch, room_.sum(), own.bytes);
    builder_.await_neighbours(Flag::ready, tick(piece));
    if (last >= 0) fold_.run(last, own.offset, cells_.offset(piece), result(own));
    if (!is_exclusive())
      builder_.copy(Buffer::output, own.offset, Buffer::scratch, room_.sum(), own.bytes);
    else if (last >= 0)
      builder_.reduce(Buffer::output, own.offset, Buffer::scratch, room_.sum(), own.bytes);
    rounds_.run(piece, own.bytes);
    if (builder_.node_size() > 1 && !rounds_.is_first()) hand_out(piece, own.bytes);
    add_before(own, last >= 0);
  }

  /// The last rank of the node whose operand the own result has; -1: there is none.
  int last_below() const { return builder_.local().value - (is_exclusive() ? 1 : 0); }

  void hand_out(int piece, Bytes bytes) {
    smp::await_free_cell(builder_, cells_, piece);
    smp::sender_put(builder_, cells_, piece, {Buffer::scratch, room_.before(), bytes});
    builder_.post(Flag::ready, tick(piece));
  }

  void add_before(const Range& own, bool has_part) {
    if (rounds_.is_first()) return;
    if (has_part)
      builder_.reduce(Buffer::scratch, room_.before(), Buffer::output, own.offset, own.bytes);
    else
      builder_.copy(Buffer::scratch, room_.before(), Buffer::output, own.offset, own.bytes);
  }

  Builder& builder_;
  const Problem& problem_;
  Cells cells_;
  Room room_;
  Rounds rounds_;
  smp::Fold fold_;
};

}  // namespace

void build_doubling_scan(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) DoublingScan(builder, problem, choice).build();
}

int doubling_scan_cells(const topology::Topology& topology) {
  return topology.is_blocked() || topology.largest_node() == 1 ? 1 : cost::rounds_of(topology.ranks());
}

std::string limits_of_doubling_scan(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (const std::string why = limits_of_chain_of_ranks(topology, problem, choice); !why.empty()) return why;
  if (topology.nodes() == 1) return "doubling is for several nodes: on one, every rank reads all lower ranks' cells";
  const int cells = doubling_scan_cells(topology);
  if (choice.cells < cells)
    return "where nodes do not hold consecutive ranks, each of " + std::to_string(cells) +
           " rounds has a cell of its own";
  return "";
}

}  // namespace espalier::algorithms
