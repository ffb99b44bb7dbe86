// Broadcast: a tree of speakers between nodes, a spread inside each node, pipelined segment by segment.
//
//   root ──seg──► speaker ──seg──► speaker        one speaker per node; the root speaks for its own
//    │              │                │
//    ▼ cells        ▼                ▼            while segment s goes through memory, s + 1 is on the wire
//   node           node             node

#include "collectives/broadcast.hpp"

#include <algorithm>
#include <deque>

#include "smp/spread.hpp"
#include "trees/tree.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// Receives posted before they are needed: the wire never waits for a receiver that is still copying.
constexpr int receives_ahead = 4;
/// Sends left unfinished to each child.
constexpr std::size_t sends_ahead = 4;

/// The tree of nodes as the ranks that speak for them.
struct Speakers {
  Rank parent{-1};
  std::vector<Rank> children;
};

Rank speaker_of(const topology::Topology& topology, NodeId node, Rank root) {
  return topology.node_of(root) == node ? root : topology.ranks_on(node).front();
}

Speakers derive_speakers(const Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const int count = topology.nodes();
  const int first = topology.node_of(problem.root).value;
  const int position = (builder.node().value - first + count) % count;
  const trees::Branch branch = choice.between == Between::chain ? trees::derive_chain(position, count)
                                                                : trees::derive_knomial(position, count, choice.radix);
  const auto speaker_at = [&](int p) { return speaker_of(topology, NodeId((p + first) % count), problem.root); };
  Speakers speakers;
  if (branch.parent >= 0) speakers.parent = speaker_at(branch.parent);
  for (const int child : branch.children) speakers.children.push_back(speaker_at(child));
  return speakers;
}

/// The speaker's half of the pipeline: receive a segment, hand it down the tree.
class Relay {
 public:
  Relay(Builder& builder, Speakers speakers, Bytes bytes, Bytes segment)
      : builder_(builder), speakers_(std::move(speakers)), bytes_(bytes), segment_(segment) {}

  /// Segment `offset` is in `output`, and on its way to the children, when this has run.
  void relay(Bytes offset) {
    if (speakers_.parent.value >= 0) {
      receive_ahead();
      builder_.finish(receives_.front());
      receives_.pop_front();
    }
    for (const Rank child : speakers_.children) send(child, offset);
  }

  void end() {
    for (const std::uint32_t slot : sends_) builder_.finish(slot);
  }

 private:
  Bytes length(Bytes offset) const { return std::min(segment_, bytes_ - offset); }

  void receive_ahead() {
    for (; posted_ < bytes_ && receives_.size() < receives_ahead; posted_ += segment_)
      receives_.push_back(builder_.recv(speakers_.parent, Buffer::output, posted_, length(posted_)));
  }

  void send(Rank child, Bytes offset) {
    if (sends_.size() == sends_ahead * speakers_.children.size()) {
      builder_.finish(sends_.front());
      sends_.pop_front();
    }
    sends_.push_back(builder_.send(child, Buffer::output, offset, length(offset)));
  }

  Builder& builder_;
  Speakers speakers_;
  Bytes bytes_;
  Bytes segment_;
  Bytes posted_ = 0;
  std::deque<std::uint32_t> receives_;
  std::deque<std::uint32_t> sends_;
};

}  // namespace

void build_broadcast(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  const topology::Topology& topology = builder.topology();
  const bool is_one_node = topology.nodes() == 1;
  const Bytes segment = choice.segment == 0 || is_one_node ? problem.bytes : std::min(choice.segment, problem.bytes);
  const Rank speaker = speaker_of(topology, builder.node(), problem.root);
  smp::Spread spread(builder, choice, topology.local_rank(speaker), Buffer::output, smp::Placement{});
  const bool speaks = speaker == builder.me();
  Relay relay(builder, speaks ? derive_speakers(builder, problem, choice) : Speakers{}, problem.bytes, segment);
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    if (speaks) relay.relay(offset);
    spread.pass(offset, std::min(segment, problem.bytes - offset));
  }
  relay.end();
  spread.end();
}

}  // namespace espalier::collectives
