// Gather: each speaker collects its node's blocks, waits for those of its subtree and sends all of them to its parent,
// node by node: a scatter run backwards.
//
//     n1 ◄──[n2]── n2   n3            speaker: own node's blocks first, children's behind them
//      [n1 n2][n3]  ╱                 message: all that a subtree has
//            root                     root: receives into output, or unpacks when node by node is not rank order
//
// Pairwise, for long blocks, knows no speakers: everyone sends the root its block, and nothing is packed or copied.

#include "collectives/gather.hpp"

#include <deque>
#include <utility>
#include <vector>

#include "collectives/node_tree.hpp"
#include "smp/collect.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;
using smp::NodeBlocks;
using smp::NodeMajor;

namespace {

/// Receives posted at once at most: a flat tree's root has one from every node.
constexpr std::size_t receives_ahead = 32;

/// Receives of the root: posted before it collects its own node, unpacked as they arrive.
class RootReceives {
 public:
  RootReceives(Builder& builder, const NodeMajor& order) : builder_(builder), order_(order) {}

  void want_subtrees(const NodeTree& tree) {
    if (!tree.is_natural()) return want_packed_subtrees(tree);
    const Buffer into = order_.is_rank_order() ? Buffer::output : Buffer::scratch;
    if (into == Buffer::scratch) builder_.need_scratch(order_.total());
    for (const int child : tree.branch().children)
      tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
        want({tree.speaker_at(child), into, order_.begin_of(nodes.first), bytes_of(nodes, order_), {nodes}});
      });
  }

  void want_blocks() {
    const topology::Topology& topology = builder_.topology();
    const plan::Blocks& blocks = order_.in_rank_order();
    for (int distance = 1; distance < topology.ranks(); ++distance) {
      const Rank from((builder_.me().value + distance) % topology.ranks());
      if (topology.node_of(from) != builder_.node())
        want({from, Buffer::output, blocks.begin(from), blocks.bytes(from), {}});
    }
  }

  void post() {
    for (; !wanted_.empty() && posted_.size() < receives_ahead; wanted_.pop_front()) {
      const Message& message = wanted_.front();
      posted_.push_back({builder_.recv(message.from, message.into, message.begin, message.bytes), message});
    }
  }

  void finish() {
    while (!posted_.empty()) {
      const auto [slot, message] = std::move(posted_.front());
      posted_.pop_front();
      builder_.finish(slot);
      post();
      if (message.into == Buffer::scratch) unpack(message);
    }
  }

 private:
  struct Message {
    Rank from;
    Buffer into;
    Bytes begin;
    Bytes bytes;
    std::vector<Stretch> nodes;  ///< whose blocks these are, one behind the other
  };
  struct Posted {
    std::uint32_t slot;
    Message message;
  };

  void want(const Message& message) {
    if (message.bytes > 0) wanted_.push_back(message);
  }

  /// Subtrees that are no stretches of nodes arrive position by position.
  void want_packed_subtrees(const NodeTree& tree) {
    builder_.need_scratch(order_.total());
    for (const int child : tree.branch().children) {
      Message message{tree.speaker_at(child), Buffer::scratch, tree.bytes(order_, 0, child), 0, {}};
      tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
        message.bytes += bytes_of(nodes, order_);
        message.nodes.push_back(nodes);
      });
      want(message);
    }
  }

  void unpack(const Message& message) {
    Bytes begin = message.begin;
    for (const Stretch& nodes : message.nodes) {
      const Bytes first = order_.begin_of(nodes.first);
      order_.for_each_part(first, bytes_of(nodes, order_), [&](Bytes from, Bytes to, Bytes part) {
        builder_.copy(Buffer::scratch, begin + (from - first), Buffer::output, to, part);
      });
      begin += bytes_of(nodes, order_);
    }
  }

  Builder& builder_;
  const NodeMajor& order_;
  std::deque<Message> wanted_;
  std::deque<Posted> posted_;
};

void send_to_root(Builder& builder, Rank root, Bytes bytes) {
  if (bytes > 0) builder.finish(builder.send(root, Buffer::input, 0, bytes));
}

std::vector<std::uint32_t> receive_from_children(Builder& builder, const NodeTree& tree, const NodeMajor& order) {
  std::vector<std::uint32_t> receives;
  for (const int child : tree.branch().children) {
    Bytes offset = tree.bytes(order, tree.position(), child);
    tree.for_each_message(order, child, [&](Bytes bytes) {
      if (bytes > 0) receives.push_back(builder.recv(tree.speaker_at(child), Buffer::scratch, offset, bytes));
      offset += bytes;
    });
  }
  return receives;
}

void send_to_parent(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer from) {
  std::vector<std::uint32_t> sends;
  Bytes offset = 0;
  tree.for_each_message(order, tree.position(), [&](Bytes bytes) {
    if (bytes > 0) sends.push_back(builder.send(tree.speaker_at(tree.branch().parent), from, offset, bytes));
    offset += bytes;
  });
  for (const std::uint32_t slot : sends) builder.finish(slot);
}

void build_below_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, const Choice& choice) {
  const Bytes bytes = tree.bytes(order, tree.position(), tree.branch().end);
  if (bytes == 0) return;
  const bool speaks = builder.local() == tree.speaker();
  const bool is_alone = builder.node_size() == 1 && tree.branch().children.empty();
  if (is_alone) return send_to_parent(builder, tree, order, Buffer::input);
  if (speaks) builder.need_scratch(bytes);
  const auto receives = speaks ? receive_from_children(builder, tree, order) : std::vector<std::uint32_t>{};
  smp::collect_blocks(builder, choice, tree.speaker(), NodeBlocks::from(0, builder.topology(), builder.node(), order),
                      Buffer::scratch);
  for (const std::uint32_t slot : receives) builder.finish(slot);
  if (speaks) send_to_parent(builder, tree, order, Buffer::scratch);
}

}  // namespace

void build_gather(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const NodeMajor order(topology, problem);
  const NodeTree tree(topology, problem, choice, builder.node());
  const bool is_pairwise = choice.between == plan::Between::pairwise;
  if (!tree.is_root() && is_pairwise)
    return send_to_root(builder, problem.root, order.in_rank_order().bytes(builder.me()));
  if (!tree.is_root()) return build_below_root(builder, tree, order, choice);
  const NodeBlocks blocks = NodeBlocks::among_all(topology, builder.node(), order);
  if (builder.me() != problem.root) return smp::collect_blocks(builder, choice, tree.speaker(), blocks, Buffer::output);
  RootReceives receives(builder, order);
  is_pairwise ? receives.want_blocks() : receives.want_subtrees(tree);
  receives.post();
  smp::collect_blocks(builder, choice, tree.speaker(), blocks, Buffer::output);
  receives.finish();
}

}  // namespace espalier::collectives
