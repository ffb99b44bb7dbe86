#include "algorithms/parts/gather_reduce.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/words.hpp"
#include "groups/distances.hpp"
#include "leaders/speakers.hpp"
#include "plan/blocks.hpp"
#include "smp/reduce/grain.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::algorithms {

namespace {

class GatherReduce {
 public:
  GatherReduce(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        topology_(builder.topology()),
        problem_(problem),
        speakers_(topology_, problem, choice.leaders),
        blocks_(problem, topology_.ranks()),
        vector_(is_scattered() ? blocks_.total() : problem.bytes),
        segment_(is_scattered() ? vector_ : segment_of(problem, choice)),
        all_(leads() ? static_cast<Bytes>(topology_.ranks()) * segment_ : 0),
        node_(builder, problem, choice, topology_.local_rank(leader_of(builder.node().value)), Buffer::scratch, all_) {
    builder.need_scratch(all_ + smp::NodeReduction::scratch_bytes(problem, choice));
  }

  void build() {
    const int own = builder_.node().value;
    for (Bytes offset = 0; offset < vector_; offset += segment_) {
      const Bytes bytes = std::min(segment_, vector_ - offset);
      std::vector<std::uint32_t> slots;
      if (folds(own)) expect_all(bytes, slots);
      node_.gather(offset, begin(own, bytes), bytes);
      if (leads()) send_all(bytes, slots);
      for (const std::uint32_t slot : slots) builder_.finish(slot);
      if (!folds(own)) continue;
      if (is_scattered()) {
        hand_out_blocks();
        continue;
      }
      if (leads()) fold(offset, bytes);
      if (problem_.operation == Operation::allreduce)
        node_.hand_out(smp::NodeReduction::everyone, {Buffer::output, offset, bytes}, offset);
    }
    node_.end();
  }

 private:
  static Bytes segment_of(const Problem& problem, const Choice& choice) {
    const smp::Grain grain(problem);
    if (choice.segment == 0) return problem.bytes;
    return std::min(problem.bytes, std::max(grain.bytes(), grain.round_down(choice.segment)));
  }

  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }
  bool leads() const { return leader_of(builder_.node().value) == builder_.me(); }
  bool is_scattered() const { return problem_.operation == Operation::reduce_scatter; }
  bool folds(int node) const {
    return problem_.operation != Operation::reduce || topology_.node_of(problem_.root) == NodeId(node);
  }

  /// Vectors lie node by node.
  Bytes begin(int node, Bytes bytes) const { return static_cast<Bytes>(topology_.ranks_before(NodeId(node))) * bytes; }
  Bytes size(int node, Bytes bytes) const { return static_cast<Bytes>(topology_.size_of(NodeId(node))) * bytes; }
  Bytes place_of(Rank rank, Bytes bytes) const {
    return begin(topology_.node_of(rank).value, bytes) + static_cast<Bytes>(topology_.local_rank(rank).value) * bytes;
  }

  template <class Visit>
  void for_each_other_node(Visit visit) const {
    for (const int distance : groups::spread_distances(topology_.nodes()))
      visit((builder_.node().value + distance) % topology_.nodes());
  }

  void expect_all(Bytes bytes, std::vector<std::uint32_t>& slots) {
    if (!leads()) return;
    for_each_other_node([&](int node) {
      slots.push_back(builder_.recv(leader_of(node), Buffer::scratch, begin(node, bytes), size(node, bytes)));
    });
  }

  void send_all(Bytes bytes, std::vector<std::uint32_t>& slots) {
    const int own = builder_.node().value;
    for_each_other_node([&](int node) {
      if (folds(node))
        slots.push_back(builder_.send(leader_of(node), Buffer::scratch, begin(own, bytes), size(own, bytes)));
    });
  }

  /// In the place of the last rank's vector, and from there to `output`.
  void fold(Bytes offset, Bytes bytes) {
    const Bytes sum = place_of(Rank(topology_.ranks() - 1), bytes);
    for (int rank = topology_.ranks() - 2; rank >= 0; --rank)
      builder_.reduce(Buffer::scratch, place_of(Rank(rank), bytes), Buffer::scratch, sum, bytes);
    builder_.copy(Buffer::scratch, sum, Buffer::output, offset, bytes);
  }

  /// To each rank of the node its block, which the leader folds in the place of the last rank's vector.
  void hand_out_blocks() {
    const Bytes last = place_of(Rank(topology_.ranks() - 1), vector_);
    for (const Rank rank : topology_.ranks_on(builder_.node())) {
      const Bytes begin = blocks_.begin(rank), bytes = blocks_.bytes(rank);
      for (int from = topology_.ranks() - 2; leads() && from >= 0; --from)
        builder_.reduce(Buffer::scratch, place_of(Rank(from), vector_) + begin, Buffer::scratch, last + begin, bytes);
      if (leads() && rank == builder_.me()) builder_.copy(Buffer::scratch, last + begin, Buffer::output, 0, bytes);
      node_.hand_out(topology_.local_rank(rank), {Buffer::scratch, last + begin, bytes}, 0);
    }
  }

  Builder& builder_;
  const topology::Topology& topology_;
  const Problem& problem_;
  leaders::Speakers speakers_;
  plan::Blocks blocks_;
  Bytes vector_;  ///< what one rank brings
  Bytes segment_;
  Bytes all_;  ///< scratch for the vectors
  smp::NodeReduction node_;
};

}  // namespace

void build_gather_reduce(Builder& builder, const Problem& problem, const Choice& choice) {
  GatherReduce(builder, problem, choice).build();
}

}  // namespace espalier::algorithms
