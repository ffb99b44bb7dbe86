// Broadcast: a tree of speakers between nodes, a spread inside each node, pipelined segment by segment.
//
//   root ──seg──► speaker ──seg──► speaker        one speaker per node; the root speaks for its own
//    │              │                │
//    ▼ cells        ▼                ▼            while segment s goes through memory, s + 1 is on the wire
//   node           node             node

#include "algorithms/broadcast/tree.hpp"

#include <algorithm>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/node_tree.hpp"
#include "algorithms/words.hpp"
#include "smp/move/spread.hpp"

namespace espalier::algorithms {

namespace {

/// Receives posted before they are needed: the wire never waits for a receiver that is still copying.
constexpr std::size_t receives_ahead = 4;
/// Sends left unfinished to each child.
constexpr std::size_t sends_ahead_each = 4;

/// The speaker's half of the pipeline: receive a segment, hand it down the tree.
class Relay {
 public:
  Relay(Builder& builder, const NodeTree& tree, Bytes bytes, Bytes segment)
      : builder_(builder),
        tree_(tree),
        bytes_(bytes),
        segment_(segment),
        receives_(builder, receives_ahead),
        sends_(builder, sends_ahead_each * tree.branch().children.size(), tree.most_under_way()) {}

  /// Segment `offset` is in `output`, and on its way to the children, when this has run.
  void relay(Bytes offset) {
    if (!tree_.is_root()) {
      receive_ahead();
      receives_.finish_oldest();
    }
    for (const int child : tree_.branch().children) send(tree_.speaker_at(child), offset);
  }

  void end() { sends_.finish_all(); }

 private:
  Bytes length(Bytes offset) const { return std::min(segment_, bytes_ - offset); }

  void receive_ahead() {
    const Rank parent = tree_.speaker_at(tree_.branch().parent);
    for (; posted_ < bytes_ && receives_.size() < receives_ahead; posted_ += segment_)
      receives_.add(builder_.recv(parent, Buffer::output, posted_, length(posted_)));
  }

  void send(Rank child, Bytes offset) {
    sends_.make_room(length(offset));
    sends_.add(builder_.send(child, Buffer::output, offset, length(offset)), length(offset));
  }

  Builder& builder_;
  const NodeTree& tree_;
  Bytes bytes_;
  Bytes segment_;
  Bytes posted_ = 0;
  InFlight receives_;
  InFlight sends_;
};

}  // namespace

void build_broadcast(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  const bool is_one_node = builder.topology().nodes() == 1;
  const Bytes segment = choice.segment == 0 || is_one_node ? problem.bytes : std::min(choice.segment, problem.bytes);
  const NodeTree tree(builder.topology(), problem, choice, builder.node());
  smp::Spread spread(builder, choice, tree.speaker(), Buffer::output, smp::Placement{});
  const bool speaks = tree.speaker() == builder.local();
  Relay relay(builder, tree, problem.bytes, segment);
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    if (speaks) relay.relay(offset);
    spread.pass(offset, std::min(segment, problem.bytes - offset));
  }
  relay.end();
  spread.end();
}

/// A pipeline of segments down a tree: the first one's way, then one after the other at the pace of the slowest part,
/// which is a speaker's link, or its processor that hands on and passes to its node, or the node.
double price_broadcast(const Scene& s, double way, double degree) {
  if (s.nodes == 1) return s.node.spread(s.bytes);
  const double link = s.network.at_once(degree, s.segment());
  const double speaker = degree * s.is.overhead + s.node.spread_writer(s.segment());
  const double pace = std::max({link, speaker, s.node.spread_reader(s.segment())});
  return way + (s.segments() - 1) * pace + s.node.spread(s.segment());
}

}  // namespace espalier::algorithms
