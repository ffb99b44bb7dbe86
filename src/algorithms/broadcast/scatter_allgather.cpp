// Broadcast in two stages (Barnett et al. 1994): a binomial tree scatters one chunk to each node, a ring brings every
// chunk to every node. Among all ranks this loses, since chunks of neighbours are copied twice; between speakers only,
// as Wu, Kendall and Aluru do it (section 8.4), each chunk is spread on the node as it comes in.
//
//     scatter       0: abcd ──cd──► 2: cd ──d──► 3: d          ring      each round, every node hands on to the right
//                   0: abcd ──b───► 1: b                                 what came from the left, unless it is there:
//                                                                        nobody sends what the tree has left behind
//
// Or, for messages that are too short for N - 1 rounds, the second stage is Bruck's with a radix: in a round every
// position has `distance` chunks from its own on, or more, and gets as many again from each of radix - 1 positions to
// the right. What the tree left is where Bruck begins, so that there, too, nothing comes twice.

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/node_tree.hpp"
#include "algorithms/row.hpp"
#include "groups/rounds.hpp"
#include "smp/move/spread.hpp"

namespace espalier::algorithms::broadcast_scatter_allgather {

using groups::Round;

namespace {

/// One chunk per position, all equal but for the end.
class Chunks {
 public:
  Chunks(Bytes bytes, int count)
      : bytes_(bytes), chunk_((bytes + static_cast<Bytes>(count) - 1) / static_cast<Bytes>(count)) {}

  Bytes begin(int position) const { return std::min(bytes_, static_cast<Bytes>(position) * chunk_); }
  Bytes bytes(int first, int last) const { return begin(last) - begin(first); }

 private:
  Bytes bytes_;
  Bytes chunk_;
};

class TwoStages {
 public:
  TwoStages(Builder& builder, const NodeTree& tree, const Chunks& chunks, smp::Spread& spread)
      : builder_(builder),
        tree_(tree),
        chunks_(chunks),
        spread_(spread),
        nodes_(builder.topology().nodes()),
        speaks_(builder.local() == tree.speaker()),
        receives_(builder),
        sends_(builder, sends_ahead, tree.most_under_way()) {}

  // What a position sends in a round is what came in the round before, or what the tree has left: passing it on to the
  // node meanwhile, and the last one in the end, gives the node every chunk once.
  void run_ring() {
    if (speaks_) scatter();
    int latest = tree_.position();
    for (const Round& round : groups::derive_ring(tree_.position(), nodes_)) {
      if (speaks_) start(round);
      pass({0, round.outgoing[0].first, 1});
      if (speaks_) receives_.finish_all();
      latest = round.incoming[0].first;
    }
    pass({0, latest, 1});
    sends_.finish_all();
  }

  /// Each run is passed on to the node while the next one is on its way.
  void run_bruck(int radix) {
    if (speaks_) scatter();
    Run latest{tree_.position(), tree_.position(), left_at(tree_.position())};  // of the round before
    for (int distance = 1; distance < nodes_; distance *= radix) {
      const std::vector<Run> incoming = incoming_of(tree_.position(), distance, radix);
      if (speaks_) start(incoming, distance, radix);
      pass(std::exchange(latest, {}));
      for (const Run& run : incoming) {
        pass(std::exchange(latest, run));
        if (speaks_) for_each_stretch(run, [&](Bytes, Bytes) { receives_.finish_oldest(); });
      }
    }
    pass(latest);
    sends_.finish_all();
  }

 private:
  /// Chunks that follow each other, around the last one, from another position.
  struct Run {
    int from = 0;
    int first = 0;
    int count = 0;
  };

  Bytes bytes_of(int chunk) const { return chunks_.bytes(chunk, chunk + 1); }
  /// How many chunks the tree leaves at a position.
  int left_at(int position) const { return tree_.end_of(position) - position; }

  /// What a position gets in a round of Bruck's: from each of the positions behind, what it has not from the tree.
  std::vector<Run> incoming_of(int position, int distance, int radix) const {
    std::vector<Run> runs;
    for (int j = 1; j < radix && j * distance < nodes_; ++j) {
      const int begin = std::max(j * distance, left_at(position)), end = std::min((j + 1) * distance, nodes_);
      if (begin < end) runs.push_back({(position + j * distance) % nodes_, (position + begin) % nodes_, end - begin});
    }
    return runs;
  }

  /// Receives before sends; to the nearest position first, and each time what that one gets from here.
  void start(const std::vector<Run>& incoming, int distance, int radix) {
    for (const Run& run : incoming)
      for_each_stretch(run, [&](Bytes begin, Bytes bytes) {
        receives_.add(builder_.recv(tree_.speaker_at(run.from), Buffer::output, begin, bytes));
      });
    for (int j = 1; j < radix && j * distance < nodes_; ++j) {
      const int to = (tree_.position() - j * distance + nodes_) % nodes_;
      for (const Run& run : incoming_of(to, distance, radix))
        if (run.from == tree_.position())
          for_each_stretch(run, [&](Bytes begin, Bytes bytes) { send(to, begin, bytes); });
    }
  }

  /// A run is one stretch of the message, or two around its end.
  template <class Do>
  void for_each_stretch(const Run& run, Do act) const {
    const int behind = std::min(run.first + run.count, nodes_), around = run.first + run.count - behind;
    if (const Bytes bytes = chunks_.bytes(run.first, behind); bytes > 0) act(chunks_.begin(run.first), bytes);
    if (const Bytes bytes = chunks_.bytes(0, around); bytes > 0) act(Bytes{0}, bytes);
  }

  /// Whether the ring has to bring a chunk to a position: the tree has not.
  bool is_wanted(int position, int chunk) const {
    return bytes_of(chunk) > 0 && (chunk < position || chunk >= tree_.end_of(position));
  }

  void scatter() {
    const Bytes below = chunks_.bytes(tree_.position(), tree_.branch().end);
    if (!tree_.is_root() && below > 0)
      builder_.finish(builder_.recv(tree_.speaker_at(tree_.branch().parent), Buffer::output,
                                    chunks_.begin(tree_.position()), below));
    for (const int child : tree_.branch().children) send_chunks(child, child, tree_.end_of(child));
  }

  void start(const Round& round) {
    const int sent = round.outgoing[0].first, received = round.incoming[0].first;
    if (is_wanted(tree_.position(), received))
      receives_.add(
          builder_.recv(tree_.speaker_at(round.from), Buffer::output, chunks_.begin(received), bytes_of(received)));
    if (is_wanted(round.to, sent)) send_chunks(round.to, sent, sent + 1);
  }

  void pass(const Run& run) {
    for_each_stretch(run, [&](Bytes begin, Bytes bytes) { spread_.pass(begin, bytes); });
  }

  void send_chunks(int to, int first, int last) {
    if (const Bytes bytes = chunks_.bytes(first, last); bytes > 0) send(to, chunks_.begin(first), bytes);
  }

  void send(int to, Bytes begin, Bytes bytes) {
    sends_.make_room(bytes);
    sends_.add(builder_.send(tree_.speaker_at(to), Buffer::output, begin, bytes), bytes);
  }

  Builder& builder_;
  const NodeTree& tree_;
  const Chunks& chunks_;
  smp::Spread& spread_;
  int nodes_;
  bool speaks_;
  InFlight receives_;
  InFlight sends_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  const NodeTree tree(builder.topology(), problem, choice, builder.node());
  const Chunks chunks(problem.bytes, builder.topology().nodes());
  smp::Spread spread(builder, choice, tree.speaker(), Buffer::output, smp::Placement{});
  TwoStages stages(builder, tree, chunks, spread);
  choice.exchange == plan::Exchange::bruck ? stages.run_bruck(choice.radix) : stages.run_ring();
  spread.end();
}

/// Rounds in each of which a leader gets up to radix - 1 times as many chunks as it has; what has come is spread while
/// the next is on its way.
double bruck_time(const Scene& s, double chunk) {
  double time = 0, last = 0;
  for (int distance = 1; distance < s.nodes; distance *= s.choice.radix) {
    const int messages = std::min(s.choice.radix, (s.nodes + distance - 1) / distance) - 1;
    const int chunks = std::min(messages * distance, s.nodes - distance);
    const double wait = 2 - 1.0 / messages;  // for senders that are late, and that hold up others
    const double trunk = chunks * chunk * s.crowding.at(distance * (messages + 1) / 2.0);
    const double link = wait * std::max(s.network.at_once(messages, chunks * chunk / messages), trunk);
    const double run = std::min(distance, s.nodes - distance) * chunk;
    const double passing = (messages - 1) * std::max(s.node.spread_writer(run), s.node.spread_reader(run));
    time += std::max(s.network.delay() + link + 2 * (messages - 1) * s.is.overhead, last + passing);
    last = s.node.spread(run);
  }
  return time + last;
}

/// Chunks go down a tree, halved (more) at each hop, then round a ring; every chunk is spread while the next is on its
/// way.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.spread(s.bytes);
  const double chunk = s.bytes / s.nodes;
  const double rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const double scatter = rounds * s.network.delay() + (s.nodes - 1) * chunk / s.is.connection_rate();
  if (s.choice.exchange == plan::Exchange::bruck) return scatter + bruck_time(s, chunk);
  const double speaker = s.is.overhead + s.node.spread_writer(chunk);
  const double round = std::max({s.network.message(chunk), speaker, s.node.spread_reader(chunk)});
  return scatter + (s.nodes - 1) * round + s.node.spread(chunk);
}

/// Gathered round a ring, or between many nodes by Bruck's exchange.
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  vary_knobs(candidates, algorithm, choice);
  if (candidates.topology().nodes() < many_nodes) return;
  choice.radix = 4;
  choice.exchange = plan::Exchange::bruck;
  candidates.add(choice);
}

topology::Way way(const topology::Distances& distances, const Choice& choice) {
  return choice.exchange == plan::Exchange::bruck ? in_rounds(distances, choice) : along_ring(distances, choice);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "scatter_allgather",
    .place = 5,
    .source = "Barnett et al. 1994 (van de Geijn); Wu, Kendall, Aluru 2004, section 8.4: leaders only",
    .summary =
        "a k-nomial tree of N nodes scatters N chunks, a ring gathers them, ceil(log_k N) + N - 1 rounds, or (Bruck et "
        "al. 1997) as many again as the tree has; no leader sends the message more than about twice",
    .knobs = "radix exchange=ring|bruck within cell cells stores leaders order",
    .build = build,
    .propose = propose,
    .shape = trees::Shape::scatter_ring,
    .way = way,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_scatter_allgather
