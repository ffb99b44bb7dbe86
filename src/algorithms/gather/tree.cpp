// Gather: each speaker collects its node's blocks, waits for those of its subtree and sends all of them to its parent,
// node by node: a scatter run backwards.
//
//     n1 ◄──[n2]── n2   n3            speaker: own node's blocks first, children's behind them
//      [n1 n2][n3]  ╱                 message: all that a subtree has, or segment after segment of that as it is there
//            root                     root: receives into output, or unpacks when node by node is not rank order
//
// Pairwise, for long blocks, knows no speakers: everyone sends the root its block, and nothing is packed or copied.

#include "algorithms/gather/tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/parts/arrivals.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/node_tree.hpp"
#include "algorithms/words.hpp"
#include "smp/move/collect.hpp"

namespace espalier::algorithms {

using smp::NodeBlocks;
using smp::NodeMajor;

namespace {

/// Receives of the root: posted before it collects its own node, unpacked as they arrive.
class RootReceives {
 public:
  RootReceives(Builder& builder, const NodeMajor& order) : builder_(builder), order_(order), arrivals_(builder) {}

  /// The children take turns, so that all of them send at the same time.
  void want_subtrees(const NodeTree& tree) {
    const Buffer into = tree.is_natural() && order_.is_rank_order() ? Buffer::output : Buffer::scratch;
    if (into == Buffer::scratch) builder_.need_scratch(order_.total());
    std::vector<std::pair<int, Arrivals::Message>> turns;
    for (const int child : tree.branch().children) {
      const Rank from = tree.speaker_at(child);
      const Bytes begin = tree.bytes(order_, 0, child), end = begin + tree.bytes(order_, child, tree.end_of(child));
      int turn = 0;
      tree.for_each_message(order_, child, [&](const NodeTree::Message& it) {
        Arrivals::Message message{from, into, tree.is_natural() ? it.node_major : begin + it.offset, it.bytes};
        if (tree.is_natural() && into == Buffer::scratch)
          message.arrived = [this, it] { unpack(it.node_major, it.node_major, it.bytes); };
        if (!tree.is_natural() && message.begin + message.bytes == end)
          message.arrived = [this, &tree, child, begin] { unpack_subtree(tree, child, begin); };
        turns.emplace_back(turn++, std::move(message));
      });
    }
    if (tree.has_segments())
      std::stable_sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [turn, message] : turns) arrivals_.want(std::move(message));
  }

  void want_blocks() {
    const topology::Topology& topology = builder_.topology();
    const plan::Blocks& blocks = order_.in_rank_order();
    for (int distance = 1; distance < topology.ranks(); ++distance) {
      const Rank from((builder_.me().value + distance) % topology.ranks());
      if (topology.node_of(from) != builder_.node())
        arrivals_.want({from, Buffer::output, blocks.begin(from), blocks.bytes(from)});
    }
  }

  void post() { arrivals_.post(); }
  void finish() { arrivals_.finish_all(); }

 private:
  /// What lies at `begin` in scratch and `node_major` among all nodes' blocks.
  void unpack(Bytes begin, Bytes node_major, Bytes bytes) {
    order_.for_each_part(node_major, bytes, [&](Bytes from, Bytes to, Bytes part) {
      builder_.copy(Buffer::scratch, begin + (from - node_major), Buffer::output, to, part);
    });
  }

  /// Subtrees that are no stretches of nodes arrive position by position.
  void unpack_subtree(const NodeTree& tree, int child, Bytes begin) {
    tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
      unpack(begin, order_.begin_of(nodes.first), bytes_of(nodes, order_));
      begin += bytes_of(nodes, order_);
    });
  }

  Builder& builder_;
  const NodeMajor& order_;
  Arrivals arrivals_;
};

/// What a speaker passes to its parent, message by message as they become complete.
class Upward {
 public:
  Upward(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer from)
      : builder_(builder), parent_(tree.speaker_at(tree.branch().parent)), from_(from), sends_(builder, sends_ahead) {
    tree.for_each_message(order, tree.position(), [&](const NodeTree::Message& it) { messages_.push_back(it); });
  }

  /// All before `end` of the subtree's blocks is there.
  void pass(Bytes end) {
    for (; next_ < messages_.size() && messages_[next_].offset + messages_[next_].bytes <= end; ++next_) {
      sends_.make_room();
      sends_.add(builder_.send(parent_, from_, messages_[next_].offset, messages_[next_].bytes));
    }
  }
  void finish() { sends_.finish_all(); }

 private:
  Builder& builder_;
  Rank parent_;
  Buffer from_;
  InFlight sends_;
  std::vector<NodeTree::Message> messages_;
  std::size_t next_ = 0;
};

void send_to_root(Builder& builder, Rank root, Bytes bytes) {
  if (bytes > 0) builder.finish(builder.send(root, Buffer::input, 0, bytes));
}

void collect(Builder& builder, const NodeTree& tree, const Choice& choice, const NodeBlocks& blocks,
             const std::function<void(Bytes)>& collected) {
  if (tree.has_segments())
    return smp::collect_in_turn(builder, choice, tree.speaker(), blocks, Buffer::scratch, collected);
  smp::collect_blocks(builder, choice, tree.speaker(), blocks, Buffer::scratch);
}

void gather_below_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, const Choice& choice) {
  const Bytes bytes = tree.bytes(order, tree.position(), tree.branch().end);
  if (bytes == 0) return;
  const NodeBlocks blocks = NodeBlocks::from(0, builder.topology(), builder.node(), order);
  if (builder.local() != tree.speaker()) return collect(builder, tree, choice, blocks, {});
  const bool is_alone = builder.node_size() == 1 && tree.branch().children.empty();
  Upward up(builder, tree, order, is_alone ? Buffer::input : Buffer::scratch);
  Arrivals arrivals(builder);
  if (!is_alone) {
    builder.need_scratch(bytes);
    std::vector<int> children = tree.branch().children;
    std::sort(children.begin(), children.end());  // what lies first is passed on first
    for (const int child : children) {
      const Bytes begin = tree.bytes(order, tree.position(), child);
      tree.for_each_message(order, child, [&](const NodeTree::Message& it) {
        const Bytes at = begin + it.offset, end = at + it.bytes;
        arrivals.want({tree.speaker_at(child), Buffer::scratch, at, it.bytes, [&up, end] { up.pass(end); }});
      });
    }
    arrivals.post();
    collect(builder, tree, choice, blocks, [&](Bytes end) { up.pass(end); });
    arrivals.finish_all();
  }
  up.pass(bytes);
  up.finish();
}

}  // namespace

void build_gather(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const NodeMajor order(topology, problem);
  const NodeTree tree(topology, problem, choice, builder.node());
  const bool is_pairwise = choice.between == plan::Between::pairwise;
  if (!tree.is_root() && is_pairwise)
    return send_to_root(builder, problem.root, order.in_rank_order().bytes(builder.me()));
  if (!tree.is_root()) return gather_below_root(builder, tree, order, choice);
  const NodeBlocks blocks = NodeBlocks::among_all(topology, builder.node(), order);
  if (builder.me() != problem.root) return smp::collect_blocks(builder, choice, tree.speaker(), blocks, Buffer::output);
  RootReceives receives(builder, order);
  is_pairwise ? receives.want_blocks() : receives.want_subtrees(tree);
  receives.post();
  smp::collect_blocks(builder, choice, tree.speaker(), blocks, Buffer::output);
  receives.finish();
}

}  // namespace espalier::algorithms
