// All-to-all. On one node: smp::swap_blocks. Between nodes, pairwise: every rank exchanges with every rank of the other
// nodes itself, the one at distance 1 first, some of them under way at once; while the first are on the wire it swaps
// with its neighbours through shared memory (Wu, Kendall and Aluru, section 8.3).

#include "collectives/alltoall.hpp"

#include "collectives/in_flight.hpp"
#include "smp/swap.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::PairBlocks;

namespace {

/// Exchanges under way at once: enough to hide latencies, not so many that they crowd each other out.
constexpr int exchanges_ahead = 8;

class Pairwise {
 public:
  Pairwise(Builder& builder, const PairBlocks& blocks)
      : builder_(builder), blocks_(blocks), receives_(builder, exchanges_ahead), sends_(builder, exchanges_ahead) {}

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

}  // namespace

void build_alltoall(Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  const int ranks = builder.topology().ranks();
  const PairBlocks blocks(problem, ranks);
  Pairwise pairwise(builder, blocks);
  int distance = 1;
  // None of the first waits for room.
  for (; distance < ranks && distance <= exchanges_ahead; ++distance) pairwise.exchange(distance);
  smp::swap_blocks(builder, choice, blocks);
  for (; distance < ranks; ++distance) pairwise.exchange(distance);
  pairwise.finish();
}

}  // namespace espalier::collectives
