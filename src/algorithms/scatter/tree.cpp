// Scatter: down a tree of speakers, to each its subtree's blocks, node by node; then each speaker deals on its node.
//
//            root                     root: input in rank order; packed node by node first unless that is the same
//      [n1 n2][n3]  ╲                 message: all that a subtree needs
//     n1 ──[n2]──► n2   n3            speaker: own node's blocks come first, children's behind them
//
// In segments, those for other nodes come first, and a speaker deals its own as they arrive.
//
// What fits a speaker's cells is received right there: its neighbours read what the network has written. Pairwise, for
// long blocks, knows no speakers: the root sends every block where it belongs, and nothing is packed or copied.

#include "algorithms/scatter/tree.hpp"

#include "algorithms/parts/arrivals.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/node_tree.hpp"
#include "algorithms/words.hpp"
#include "smp/move/deal.hpp"

namespace espalier::algorithms {

using smp::NodeBlocks;
using smp::NodeMajor;

namespace {

/// A subtree's blocks, in an order in which they are no stretches of nodes: packed position by position from `begin`
/// on.
void pack_subtree(Builder& builder, const NodeTree& tree, const NodeMajor& order, int child, Bytes begin) {
  tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
    const Bytes first = order.begin_of(nodes.first);
    order.for_each_part(first, bytes_of(nodes, order), [&](Bytes to, Bytes from, Bytes part) {
      builder.copy(Buffer::input, from, Buffer::scratch, begin + (to - first), part);
    });
    begin += bytes_of(nodes, order);
  });
}

/// The root's half: everything leaves from its input, or from a packed copy of it.
void send_from_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, InFlight& sends) {
  const bool is_natural = tree.is_natural(), is_packed = !is_natural || !order.is_rank_order();
  if (is_packed) builder.need_scratch(order.total());
  for (const int child : tree.branch().children) {
    const Bytes begin = tree.bytes(order, 0, child);
    if (!is_natural) pack_subtree(builder, tree, order, child, begin);
    tree.for_each_message(order, child, [&](const NodeTree::Message& it) {
      if (is_natural && is_packed)
        order.for_each_part(it.node_major, it.bytes, [&](Bytes to, Bytes from, Bytes part) {
          builder.copy(Buffer::input, from, Buffer::scratch, to, part);
        });
      sends.make_room(it.bytes);
      sends.add(builder.send(tree.speaker_at(child), is_packed ? Buffer::scratch : Buffer::input,
                             is_natural ? it.node_major : begin + it.offset, it.bytes),
                it.bytes);
    });
  }
}

/// Where a speaker keeps what it receives.
Buffer choose_buffer(const Builder& builder, const NodeTree& tree, const Choice& choice, Bytes bytes) {
  if (builder.node_size() == 1) return tree.branch().children.empty() ? Buffer::output : Buffer::scratch;
  const bool fits = bytes <= choice.cell * static_cast<Bytes>(choice.cells);
  return choice.within == plan::Within::cells && fits ? Buffer::window : Buffer::scratch;
}

void expect(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer into, Arrivals& arrivals) {
  if (into == Buffer::window) builder.claim_window();
  const Rank parent = tree.speaker_at(tree.branch().parent);
  tree.for_each_message(order, tree.position(), [&](const NodeTree::Message& it) {
    arrivals.want({parent, into, it.offset, it.bytes});
  });
  arrivals.post();
}

void pass_to_children(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer from, Arrivals& arrivals,
                      InFlight& sends) {
  for (const int child : tree.branch().children) {
    const Bytes begin = tree.bytes(order, tree.position(), child);
    tree.for_each_message(order, child, [&](const NodeTree::Message& it) {
      arrivals.finish(begin + it.offset, begin + it.offset + it.bytes);
      sends.make_room(it.bytes);
      sends.add(builder.send(tree.speaker_at(child), from, begin + it.offset, it.bytes), it.bytes);
    });
  }
}

/// Pairwise: from the root's input straight into every output on other nodes.
void send_to_ranks(Builder& builder, const plan::Blocks& blocks, InFlight& sends) {
  const topology::Topology& topology = builder.topology();
  for (int distance = 1; distance < topology.ranks(); ++distance) {
    const Rank to((builder.me().value + distance) % topology.ranks());
    if (topology.node_of(to) == builder.node() || blocks.bytes(to) == 0) continue;
    sends.make_room();
    sends.add(builder.send(to, Buffer::input, blocks.begin(to), blocks.bytes(to)));
  }
}

void receive_from_root(Builder& builder, Rank root, Bytes bytes) {
  if (bytes > 0) builder.finish(builder.recv(root, Buffer::output, 0, bytes));
}

void scatter_below_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, const Choice& choice) {
  const Bytes bytes = tree.bytes(order, tree.position(), tree.branch().end);
  if (bytes == 0) return;
  const Buffer buffer = choose_buffer(builder, tree, choice, bytes);
  InFlight sends(builder, sends_ahead, tree.most_under_way());
  Arrivals arrivals(builder);
  if (builder.local() == tree.speaker()) {
    if (buffer == Buffer::scratch) builder.need_scratch(bytes);
    expect(builder, tree, order, buffer, arrivals);
    if (!tree.has_segments()) arrivals.finish_all();
    pass_to_children(builder, tree, order, buffer, arrivals, sends);
  }
  smp::Fetch fetch;
  if (tree.has_segments()) fetch = [&](Bytes begin, Bytes end) { arrivals.finish(begin, end); };
  if (buffer != Buffer::output)
    smp::deal_blocks(builder, choice, tree.speaker(), buffer,
                     NodeBlocks::from(0, builder.topology(), builder.node(), order), fetch);
  arrivals.finish_all();
  sends.finish_all();
}

}  // namespace

void build_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const NodeMajor order(topology, problem);
  const NodeTree tree(topology, problem, choice, builder.node());
  const bool is_pairwise = choice.between == plan::Between::pairwise;
  if (!tree.is_root() && is_pairwise)
    return receive_from_root(builder, problem.root, order.in_rank_order().bytes(builder.me()));
  if (!tree.is_root()) return scatter_below_root(builder, tree, order, choice);
  InFlight sends(builder, sends_ahead, tree.most_under_way());
  if (builder.me() == problem.root && is_pairwise) send_to_ranks(builder, order.in_rank_order(), sends);
  if (builder.me() == problem.root && !is_pairwise) send_from_root(builder, tree, order, sends);
  smp::deal_blocks(builder, choice, tree.speaker(), Buffer::input,
                   NodeBlocks::among_all(topology, builder.node(), order));
  sends.finish_all();
}

}  // namespace espalier::algorithms
