// All-to-all. On one node: smp::swap_blocks. Between nodes, pairwise: every rank exchanges with every rank of the other
// nodes itself, in an order that spreads partners over the network (groups::spread_distances), some of them under way
// at once; while the first are on the wire it swaps with its neighbours through shared memory (Wu, Kendall and Aluru,
// section 8.3).

#include <algorithm>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/row.hpp"
#include "groups/distances.hpp"
#include "smp/move/swap.hpp"

namespace espalier::algorithms::alltoall_pairwise {

using plan::PairBlocks;

namespace {

/// Exchanges under way at once unless the choice says how many: enough to hide latencies, not so many that they crowd
/// each other out.
constexpr std::size_t exchanges_ahead = 8;

class Pairwise {
 public:
  Pairwise(Builder& builder, const PairBlocks& blocks, std::size_t ahead)
      : builder_(builder), blocks_(blocks), receives_(builder, ahead), sends_(builder, ahead) {}

  /// Exchanges with the ranks `distance` to the right and to the left, unless they sit on this node.
  void exchange(int distance) {
    const int ranks = builder_.topology().ranks();
    const Rank me = builder_.me();
    const Rank from((me.value + ranks - distance) % ranks), to((me.value + distance) % ranks);
    if (const Bytes bytes = bytes_between(from, me); bytes > 0) {
      receives_.make_room();
      receives_.add(builder_.recv(from, Buffer::output, blocks_.output_begin(from, me), bytes));
    }
    if (const Bytes bytes = bytes_between(me, to); bytes > 0) {
      sends_.make_room();
      sends_.add(builder_.send(to, Buffer::input, blocks_.input_begin(me, to), bytes));
    }
  }

  void finish() {
    receives_.finish_all();
    sends_.finish_all();
  }

 private:
  Bytes bytes_between(Rank from, Rank to) const {
    const topology::Topology& topology = builder_.topology();
    return topology.node_of(from) == topology.node_of(to) ? 0 : blocks_.bytes(from, to);
  }

  Builder& builder_;
  const PairBlocks& blocks_;
  InFlight receives_;
  InFlight sends_;
};

void build(Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  const int ranks = builder.topology().ranks();
  const PairBlocks blocks(problem, ranks);
  const std::size_t ahead = choice.connections > 0 ? static_cast<std::size_t>(choice.connections) : exchanges_ahead;
  Pairwise pairwise(builder, blocks, ahead);
  const std::vector<int> distances = groups::spread_distances(ranks);
  // None of the first waits for room.
  const std::size_t first = std::min(ahead, distances.size());
  for (std::size_t i = 0; i < first; ++i) pairwise.exchange(distances[i]);
  smp::swap_blocks(builder, choice, blocks);
  for (std::size_t i = first; i < distances.size(); ++i) pairwise.exchange(distances[i]);
  pairwise.finish();
}

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.swap(s.bytes);
  const double own = s.node.swap(s.bytes) + 2 * s.elsewhere() * s.is.overhead;
  if (s.choice.connections == 1)
    return std::max(s.elsewhere() * (s.network.delay() + s.network.at_once(s.on_node, s.bytes)), own);
  const double link = through_link(s, s.on_node * s.elsewhere(), s.bytes);
  // The first messages arrive while the last ones are sent.
  const double last = (s.elsewhere() - 1) * s.is.overhead + s.network.serial(s.bytes);
  return std::max(own, s.network.delay() + std::max(link, last));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::alltoall,
    .between = "pairwise",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2004, section 8.3",
    .summary =
        "every rank exchanges with each rank of other nodes itself, in an order that spreads partners over the "
        "network, eight exchanges at a time or as many as connections; shared memory serves neighbours meanwhile",
    .knobs = "connections within cell cells stores",
    .build = build,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::alltoall_pairwise
