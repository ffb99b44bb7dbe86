// Broadcast in two stages (Barnett et al. 1994): a binomial tree scatters one chunk to each node, a ring brings every
// chunk to every node. Among all ranks this loses, since chunks of neighbours are copied twice; between speakers only,
// as Wu, Kendall and Aluru do it (section 8.4), each chunk is spread on the node as it comes in.
//
//     scatter       0: abcd ──cd──► 2: cd ──d──► 3: d          ring      each round, every node hands on to the right
//                   0: abcd ──b───► 1: b                                 what came from the left, unless it is there:
//                                                                        nobody sends what the tree has left behind

#include "collectives/scatter_allgather.hpp"

#include <algorithm>

#include "collectives/in_flight.hpp"
#include "collectives/node_tree.hpp"
#include "groups/rounds.hpp"
#include "smp/spread.hpp"

namespace espalier::collectives {

using groups::Round;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// Sends left unfinished: bounds the slots of a ring over many nodes.
constexpr std::size_t sends_ahead = 16;

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
        receives_(builder, 1),
        sends_(builder, sends_ahead) {}

  // What a position sends in a round is what came in the round before, or what the tree has left: passing it on to the
  // node meanwhile, and the last one in the end, gives the node every chunk once.
  void run() {
    const bool speaks = builder_.local() == tree_.speaker();
    if (speaks) scatter();
    int latest = tree_.position();
    for (const Round& round : groups::derive_ring(tree_.position(), builder_.topology().nodes())) {
      if (speaks) start(round);
      pass(round.outgoing[0].first);
      if (speaks) receives_.finish_all();
      latest = round.incoming[0].first;
    }
    pass(latest);
    sends_.finish_all();
  }

 private:
  Bytes bytes_of(int chunk) const { return chunks_.bytes(chunk, chunk + 1); }

  /// Whether the ring has to bring a chunk to a position: the tree has not.
  bool is_wanted(int position, int chunk) const {
    return bytes_of(chunk) > 0 && (chunk < position || chunk >= tree_.end_of(position));
  }

  void scatter() {
    const Bytes below = chunks_.bytes(tree_.position(), tree_.branch().end);
    if (!tree_.is_root() && below > 0)
      builder_.finish(builder_.recv(tree_.speaker_at(tree_.branch().parent), Buffer::output,
                                    chunks_.begin(tree_.position()), below));
    for (const int child : tree_.branch().children) send(child, child, tree_.end_of(child));
  }

  void start(const Round& round) {
    const int sent = round.outgoing[0].first, received = round.incoming[0].first;
    if (is_wanted(tree_.position(), received))
      receives_.add(
          builder_.recv(tree_.speaker_at(round.from), Buffer::output, chunks_.begin(received), bytes_of(received)));
    if (is_wanted(round.to, sent)) send(round.to, sent, sent + 1);
  }

  void pass(int chunk) {
    if (bytes_of(chunk) > 0) spread_.pass(chunks_.begin(chunk), bytes_of(chunk));
  }

  void send(int to, int first, int last) {
    if (chunks_.bytes(first, last) == 0) return;
    sends_.make_room();
    sends_.add(builder_.send(tree_.speaker_at(to), Buffer::output, chunks_.begin(first), chunks_.bytes(first, last)));
  }

  Builder& builder_;
  const NodeTree& tree_;
  const Chunks& chunks_;
  smp::Spread& spread_;
  InFlight receives_;
  InFlight sends_;
};

}  // namespace

void build_scatter_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  const NodeTree tree(builder.topology(), problem, choice, builder.node());
  const Chunks chunks(problem.bytes, builder.topology().nodes());
  smp::Spread spread(builder, choice, tree.speaker(), Buffer::output, smp::Placement{});
  TwoStages(builder, tree, chunks, spread).run();
  spread.end();
}

}  // namespace espalier::collectives
