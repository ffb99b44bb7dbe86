// Scatter: down a tree of speakers, to each its subtree's blocks, node by node; then each speaker deals on its node.
//
//            root                     root: input in rank order; packed node by node first unless that is the same
//      [n1 n2][n3]  ╲                 message: all that a subtree needs
//     n1 ──[n2]──► n2   n3            speaker: own node's blocks come first, children's behind them
//
// What fits a speaker's cells is received right there: its neighbours read what the network has written. Pairwise, for
// long blocks, knows no speakers: the root sends every block where it belongs, and nothing is packed or copied.

#include "collectives/scatter.hpp"

#include "collectives/in_flight.hpp"
#include "collectives/node_tree.hpp"
#include "smp/deal.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;
using smp::NodeBlocks;
using smp::NodeMajor;

namespace {

/// Sends left unfinished: enough to keep a network busy.
constexpr std::size_t sends_ahead = 16;

/// The root's half in an order in which subtrees are no stretches of nodes: packed position by position.
void send_packed_from_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, InFlight& sends) {
  builder.need_scratch(order.total());
  for (const int child : tree.branch().children) {
    const Bytes begin = tree.bytes(order, 0, child);
    Bytes end = begin;
    tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
      const Bytes first = order.begin_of(nodes.first);
      order.for_each_part(first, bytes_of(nodes, order), [&](Bytes to, Bytes from, Bytes part) {
        builder.copy(Buffer::input, from, Buffer::scratch, end + (to - first), part);
      });
      end += bytes_of(nodes, order);
    });
    if (begin == end) continue;
    sends.make_room();
    sends.add(builder.send(tree.speaker_at(child), Buffer::scratch, begin, end - begin));
  }
}

/// The root's half: everything leaves from its input, or from a packed copy of it.
void send_from_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, InFlight& sends) {
  if (!tree.is_natural()) return send_packed_from_root(builder, tree, order, sends);
  const bool is_packed = order.is_rank_order();
  if (!is_packed) builder.need_scratch(order.total());
  for (const int child : tree.branch().children)
    tree.for_each_stretch_below(child, [&](const Stretch& nodes) {
      const Bytes begin = order.begin_of(nodes.first), bytes = bytes_of(nodes, order);
      if (bytes == 0) return;
      if (!is_packed)
        order.for_each_part(begin, bytes, [&](Bytes to, Bytes from, Bytes part) {
          builder.copy(Buffer::input, from, Buffer::scratch, to, part);
        });
      sends.make_room();
      sends.add(builder.send(tree.speaker_at(child), is_packed ? Buffer::input : Buffer::scratch, begin, bytes));
    });
}

/// Where a speaker keeps what it receives.
Buffer choose_buffer(const Builder& builder, const NodeTree& tree, const Choice& choice, Bytes bytes) {
  if (builder.node_size() == 1) return tree.branch().children.empty() ? Buffer::output : Buffer::scratch;
  const bool fits = bytes <= choice.cell * static_cast<Bytes>(choice.cells);
  return choice.within == plan::Within::cells && fits ? Buffer::window : Buffer::scratch;
}

void receive(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer into) {
  std::vector<std::uint32_t> receives;
  Bytes offset = 0;
  if (into == Buffer::window) builder.claim_window();
  tree.for_each_message(order, tree.position(), [&](Bytes bytes) {
    if (bytes > 0) receives.push_back(builder.recv(tree.speaker_at(tree.branch().parent), into, offset, bytes));
    offset += bytes;
  });
  for (const std::uint32_t slot : receives) builder.finish(slot);
}

void send_to_children(Builder& builder, const NodeTree& tree, const NodeMajor& order, Buffer from, InFlight& sends) {
  for (const int child : tree.branch().children) {
    Bytes offset = tree.bytes(order, tree.position(), child);
    tree.for_each_message(order, child, [&](Bytes bytes) {
      if (bytes == 0) return;
      sends.make_room();
      sends.add(builder.send(tree.speaker_at(child), from, offset, bytes));
      offset += bytes;
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

void build_below_root(Builder& builder, const NodeTree& tree, const NodeMajor& order, const Choice& choice) {
  const Bytes bytes = tree.bytes(order, tree.position(), tree.branch().end);
  if (bytes == 0) return;
  const Buffer buffer = choose_buffer(builder, tree, choice, bytes);
  InFlight sends(builder, sends_ahead);
  if (builder.local() == tree.speaker()) {
    if (buffer == Buffer::scratch) builder.need_scratch(bytes);
    receive(builder, tree, order, buffer);
    send_to_children(builder, tree, order, buffer, sends);
  }
  if (buffer != Buffer::output)
    smp::deal_blocks(builder, choice, tree.speaker(), buffer,
                     NodeBlocks::from(0, builder.topology(), builder.node(), order));
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
  if (!tree.is_root()) return build_below_root(builder, tree, order, choice);
  InFlight sends(builder, sends_ahead);
  if (builder.me() == problem.root && is_pairwise) send_to_ranks(builder, order.in_rank_order(), sends);
  if (builder.me() == problem.root && !is_pairwise) send_from_root(builder, tree, order, sends);
  smp::deal_blocks(builder, choice, tree.speaker(), Buffer::input,
                   NodeBlocks::among_all(topology, builder.node(), order));
  sends.finish_all();
}

}  // namespace espalier::collectives
