// Reduce over a circulant graph: the broadcast's rounds backwards (broadcast/circulant.cpp). Whoever receives a block
// there sends what it has of it here, and every block comes to the root along a tree of its own.

#include "groups/circulant.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/reduce/tree.hpp"
#include "algorithms/row.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce/grain.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::algorithms::reduce_circulant {
namespace {

/// The blocks of a vector: whole elements.
struct Cuts {
  Cuts(const Problem& problem, const Choice& choice) : bytes(problem.bytes) {
    const smp::Grain grain(problem);
    const Bytes wanted = choice.segment == 0 ? bytes : std::max(grain.bytes(), grain.round_down(choice.segment));
    block = std::min(bytes, wanted);
  }

  int count() const { return static_cast<int>((bytes + block - 1) / block); }
  Bytes begin(int number) const { return static_cast<Bytes>(number) * block; }
  Bytes length(int number) const { return std::min(block, bytes - begin(number)); }

  Bytes bytes, block = 0;
};

class Rounds {
 public:
  Rounds(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        topology_(builder.topology()),
        speakers_(topology_, problem, choice.leaders),
        cuts_(problem, choice),
        root_(topology_.node_of(problem.root).value),
        position_((builder.node().value - root_ + topology_.nodes()) % topology_.nodes()),
        leads_(speaker_of(builder.node()) == builder.me()),
        home_(position_ == 0 ? Buffer::output : Buffer::scratch),
        result_(leads_ && home_ == Buffer::scratch ? problem.bytes : 0),
        spare_(result_ + smp::NodeReduction::scratch_bytes(problem, choice)),
        node_(builder, problem, choice, topology_.local_rank(speaker_of(builder.node())), home_, result_),
        is_combined_(static_cast<std::size_t>(cuts_.count())),
        sends_(builder, groups::circulant_sends) {
    builder.need_scratch(spare_ + (leads_ ? cuts_.block : 0));
  }

  /// Nodes combine a block when it is first needed, so that it happens while another is on its way.
  void run() {
    const std::vector<groups::CirculantRound> rounds =
        groups::derive_circulant(position_, topology_.nodes(), cuts_.count());
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      const bool hears = leads_ && round->outgoing >= 0;
      std::uint32_t slot = 0;
      if (hears) slot = builder_.recv(speaker_at(round->to), Buffer::scratch, spare_, cuts_.length(round->outgoing));
      combine(round->incoming);
      if (leads_ && round->incoming >= 0) send(speaker_at(round->from), round->incoming);
      combine(round->outgoing);
      if (hears) add(slot, round->outgoing);
    }
    for (int block = 0; block < cuts_.count(); ++block) combine(block);
    sends_.finish_all();
    node_.end();
  }

 private:
  /// Nearly everyone hears from others as well.
  Rank speaker_of(NodeId node) const { return speakers_.of(node, true); }
  Rank speaker_at(int position) const { return speaker_of(NodeId((root_ + position) % topology_.nodes())); }

  void combine(int block) {
    if (block < 0 || is_combined_[static_cast<std::size_t>(block)]) return;
    is_combined_[static_cast<std::size_t>(block)] = true;
    node_.reduce(cuts_.begin(block), cuts_.begin(block), cuts_.length(block));
  }

  /// What a leader has of a block is complete when it is sent: nobody adds to it any more.
  void send(Rank to, int block) {
    sends_.make_room();
    sends_.add(builder_.send(to, home_, cuts_.begin(block), cuts_.length(block)));
  }

  void add(std::uint32_t slot, int block) {
    builder_.finish(slot);
    builder_.reduce(Buffer::scratch, spare_, home_, cuts_.begin(block), cuts_.length(block));
  }

  Builder& builder_;
  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  Cuts cuts_;
  int root_, position_;
  bool leads_;
  Buffer home_;
  Bytes result_, spare_;
  smp::NodeReduction node_;
  std::vector<bool> is_combined_;
  InFlight sends_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1) return build_reduce(builder, problem, choice);
  if (problem.bytes > 0) Rounds(builder, problem, choice).run();
}

std::string limits(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (!problem.is_commutative && topology.nodes() > 1)
    return "operands change places round the graph, which this operation does not allow";
  return limits_of_reduce(topology, problem, choice);
}

/// What rounds take longer whose operands are added while others already send: nobody waits for all (48 nodes, 1 and
/// 8 MB, blocks of 64K, simulated: 1.2 and 1.4).
constexpr double out_of_step = 1.3;

/// As the broadcast, and in every round one block is added.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_to_leader(s.bytes);
  const double block = s.segment(), leader = 2 * s.is.overhead + s.node.reduce_to_leader(block);
  const std::vector<int> skips = groups::derive_skips(s.nodes);
  double phase = 0;
  for (std::size_t k = 0; k + 1 < skips.size(); ++k)
    phase += std::max(s.message_to(skips[k], block) + s.node.combine(block), leader) + s.handing_over;
  const auto in_phase = static_cast<double>(skips.size() - 1);
  return s.node.reduce_to_leader(block) + out_of_step * phase / in_phase * (s.segments() - 1 + in_phase);
}

void propose(Candidates& candidates, const Algorithm&, Choice choice) {
  if (!candidates.problem().is_commutative || candidates.topology().nodes() < 3) return;
  for (const Bytes segment : {Bytes{16} << 10, Bytes{64} << 10}) {
    choice.segment = segment;
    if (4 * segment <= candidates.problem().bytes) candidates.add(choice);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce,
    .between = "circulant",
    .place = 5,
    .source = "Träff 2024 (arXiv 2407.18004), section 4",
    .summary =
        "nodes combine, then every leader sends one block and adds another per round, over distances that double: "
        "blocks - 1 + ceil(log2 N) rounds for any N; every leader sends the vector once, and receives it about once",
    .knobs = "segment within cell cells leaders",
    .build = build,
    .limits = limits,
    .propose = propose,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::reduce_circulant
