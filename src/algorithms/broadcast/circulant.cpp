// Broadcast over a circulant graph: in every round each speaker sends one block and receives another.
//
//   5 nodes    round 0 ─► 1    round 1 ─► 2    round 2 ─► 3     and again: N - 1 blocks' time and a logarithm of
//   rounds,
//              to the node that far from one's own               for any number of nodes (groups/circulant.hpp)

#include "groups/circulant.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/row.hpp"
#include "leaders/speakers.hpp"
#include "smp/move/spread.hpp"

namespace espalier::algorithms::broadcast_circulant {
namespace {

/// One speaker's rounds; its neighbours only follow in which order blocks come.
class Rounds {
 public:
  Rounds(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        topology_(builder.topology()),
        speakers_(topology_, problem, choice.leaders),
        bytes_(problem.bytes),
        block_(choice.segment == 0 ? problem.bytes : std::min(choice.segment, problem.bytes)),
        root_(topology_.node_of(problem.root).value),
        position_((builder.node().value - root_ + topology_.nodes()) % topology_.nodes()),
        speaks_(speakers_.local_of(builder.node()) == builder.local()),
        spread_(builder, choice, speakers_.local_of(builder.node()), Buffer::output, smp::Placement{}),
        sends_(builder, groups::circulant_sends) {}

  /// What came in one round is passed to the node while the next is on its way; the root's block by block.
  void run() {
    const auto blocks = static_cast<int>((bytes_ + block_ - 1) / block_);
    int latest = -1, own = 0;
    for (const groups::CirculantRound& round : groups::derive_circulant(position_, topology_.nodes(), blocks)) {
      const std::uint32_t slot = speaks_ ? start(round) : 0;
      if (position_ == 0 && own < blocks) latest = own++;
      pass(std::exchange(latest, -1));
      if (speaks_ && round.incoming >= 0) builder_.finish(slot);
      latest = round.incoming;
    }
    pass(latest);
    while (position_ == 0 && own < blocks) pass(own++);
    sends_.finish_all();
    spread_.end();
  }

 private:
  Bytes begin(int block) const { return static_cast<Bytes>(block) * block_; }
  Bytes length(int block) const { return std::min(block_, bytes_ - begin(block)); }
  Rank speaker_at(int position) const { return speakers_.of(NodeId((root_ + position) % topology_.nodes())); }

  /// Gives the receipt's slot, if there is one.
  std::uint32_t start(const groups::CirculantRound& round) {
    std::uint32_t slot = 0;
    if (round.incoming >= 0)
      slot = builder_.recv(speaker_at(round.from), Buffer::output, begin(round.incoming), length(round.incoming));
    if (round.outgoing >= 0) {
      sends_.make_room();
      sends_.add(builder_.send(speaker_at(round.to), Buffer::output, begin(round.outgoing), length(round.outgoing)));
    }
    return slot;
  }

  void pass(int block) {
    if (block >= 0) spread_.pass(begin(block), length(block));
  }

  Builder& builder_;
  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  Bytes bytes_, block_;
  int root_, position_;
  bool speaks_;
  smp::Spread spread_;
  InFlight sends_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) Rounds(builder, problem, choice).run();
}

/// Every round takes as long as its messages, with what they meet on the trunks at that distance, or as a speaker that
/// hands the last block to its node.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.spread(s.bytes);
  const double block = s.segment(), speaker = 2 * s.is.overhead + s.node.spread_writer(block);
  const double pace = std::max(speaker, s.node.spread_reader(block));
  const std::vector<int> skips = groups::derive_skips(s.nodes);
  double phase = 0;
  for (std::size_t k = 0; k + 1 < skips.size(); ++k)
    phase += std::max(s.message_to(skips[k], block), pace) + s.handing_over;
  const auto in_phase = static_cast<double>(skips.size() - 1);
  return phase / in_phase * (s.segments() - 1 + in_phase) + s.node.spread(block);
}

/// Long blocks, for which senders and receivers wait for each other: shorter ones leave at once, so that who is ahead
/// sends on while others are behind, and where messages share a link, as in simulation, rounds do not stay apart (48
/// nodes on a switch, 1 MB: blocks of 128K 201 us, of 64K 639).
void propose(Candidates& candidates, const Algorithm&, Choice choice) {
  choice.segment = Bytes{128} << 10;
  if (candidates.topology().nodes() > 2 && 4 * choice.segment <= candidates.problem().bytes) candidates.add(choice);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "circulant",
    .place = 8,
    .source = "Träff 2024 (arXiv 2407.18004), sections 2 and 3",
    .summary =
        "every leader sends one block and receives another per round, over distances that double: blocks - 1 + "
        "ceil(log2 N) rounds for any N; no leader sends the message more than about once",
    .knobs = "segment within cell cells stores leaders",
    .build = build,
    .propose = propose,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_circulant
