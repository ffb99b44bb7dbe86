// Each node's data go to one master on every other node, from as many ranks as there are groups: group i gathers on
// the nodes n with n mod groups = i, to a master that ends with everything.
//
//     node 0   [ 0* 1  2  3 ]      group 0 (ranks 0, 4, 8, 12) gathers on node 0: master 0
//     node 1   [ 4  5* 6  7 ]      group 1 (ranks 1, 5, 9, 13) gathers on node 1: master 5
//     node 2   [ 8  9 10*11 ]      each rank sends its whole node's data, so that all cores drive the network

#include <algorithm>

#include "algorithms/allgather/group_data.hpp"
#include "algorithms/allgather/group_prices.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/masters.hpp"
#include "algorithms/row.hpp"
#include "smp/move/exchange.hpp"
#include "smp/phases.hpp"

namespace espalier::algorithms::allgather_gather_based {

namespace {

class GatherBased {
 public:
  GatherBased(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        choice_(choice),
        order_(builder.topology(), problem),
        phases_(builder, choice),
        masters_(builder.topology(), problem, choice),
        is_staged_(stages_data(builder.topology().is_blocked(), problem, choice) && !is_in_place()),
        master_(member(node(), node())),
        base_(builder.local() == master_ ? 0 : order_.begin_of(node())) {
    if (is_staged_) builder.need_scratch(builder.local() == master_ ? order_.total() : node_bytes(node()));
  }

  void run() {
    builder_.begin_phase("phase 1");
    share_blocks();
    builder_.begin_phase("phase 2");
    gather_groups();
    builder_.begin_phase("phase 3");
    phases_.settle();
    spread();
    phases_.settle();
  }

 private:
  /// Of a rank alone on its node, in a job placed in blocks, all that it sends and gets are runs of its result.
  bool is_in_place() const { return builder_.topology().is_blocked() && builder_.node_size() == 1; }
  int node() const { return builder_.node().value; }
  int nodes() const { return builder_.topology().nodes(); }
  Bytes node_bytes(int node) const { return order_.begin_of(node + 1) - order_.begin_of(node); }
  /// Who on `node` belongs to the group that gathers on node `target`.
  LocalRank member(int node, int target) const { return masters_.local_of(node, target % choice_.groups); }
  Rank rank_of(int node, LocalRank local) const {
    return builder_.topology().ranks_on(NodeId(node))[static_cast<std::size_t>(local.value)];
  }

  /// Calls `part(at, place)` for each run of a stretch of node-major order that is one run where this rank has it:
  /// copy-based in scratch, from its node's data on (the master: from the first node's); zero-copy in its output.
  template <class Part>
  void for_each_run(Bytes offset, Bytes bytes, Part part) const {
    if (is_staged_)
      part(offset, smp::Range{Buffer::scratch, offset - base_, bytes});
    else
      order_.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes run) {
        part(from, smp::Range{Buffer::output, to, run});
      });
  }

  void share_blocks() {
    const int before = builder_.topology().ranks_before(builder_.node());
    const auto begin_of = [&](LocalRank r) { return order_.begin(before + r.value); };
    const auto bytes_of = [&](LocalRank r) { return order_.begin(before + r.value + 1) - begin_of(r); };
    phases_.run(
        bytes_of,
        [&](Bytes offset, Bytes bytes, auto put) {
          put(smp::Range{Buffer::input, offset, bytes}, 0);
        },
        [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
          const Bytes first = begin_of(writer) + offset;
          for_each_run(first, bytes, [&](Bytes at, const smp::Range& into) {
            get(into, smp::Source{at - first, Buffer::input, offset + (at - first)});
          });
        });
  }

  void gather_groups() {
    InFlight receives(builder_);
    InFlight sends(builder_, choice_);
    for (int distance = 1; builder_.local() == master_ && distance < nodes(); ++distance) {
      const int from = (node() - distance + nodes()) % nodes();
      if (node_bytes(from) > 0)
        for_each_run(order_.begin_of(from), node_bytes(from), [&](Bytes, const smp::Range& into) {
          receives.add(builder_.recv(rank_of(from, member(from, node())), into.buffer, into.offset, into.bytes));
        });
    }
    for (const int to : targets()) {
      if (node_bytes(node()) == 0) continue;
      for_each_run(order_.begin_of(node()), node_bytes(node()), [&](Bytes, const smp::Range& from) {
        sends.make_room();
        sends.add(builder_.send(rank_of(to, member(to, to)), from.buffer, from.offset, from.bytes));
      });
    }
    receives.finish_all();
    sends.finish_all();
  }

  /// The nodes that this rank sends to, from the next one on: at any moment every master has about as many messages
  /// under way to it, with a limit on connections, too.
  std::vector<int> targets() const {
    std::vector<int> all;
    for (int to = 0; to < nodes(); ++to)
      if (to != node() && member(node(), to) == builder_.local()) all.push_back(to);
    std::rotate(all.begin(), std::upper_bound(all.begin(), all.end(), node()), all.end());
    return all;
  }

  void spread() {
    const bool is_master = builder_.local() == master_;
    phases_.run([&](LocalRank r) { return r == master_ ? order_.total() : 0; },
                [&](Bytes offset, Bytes bytes, auto put) {
                  for_each_run(offset, bytes, [&](Bytes at, const smp::Range& from) { put(from, at - offset); });
                },
                [&](LocalRank, Bytes offset, Bytes bytes, auto get) {
                  if (is_master && !is_staged_) return;  // it is there
                  order_.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes part) {
                    const smp::Source source = is_staged_ ? smp::Source{from - offset, Buffer::scratch, from}
                                                          : smp::Source{from - offset, Buffer::output, to};
                    get(smp::Range{Buffer::output, to, part}, source);
                  });
                });
  }

  Builder& builder_;
  Choice choice_;
  smp::NodeMajor order_;
  smp::Phases phases_;
  Masters masters_;
  bool is_staged_;
  LocalRank master_;
  Bytes base_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    return smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  GatherBased(builder, problem, choice).run();
}

/// Every node's data go to N - 1 masters elsewhere, each from the group's rank there.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  const GroupsOfNode groups(s, s.choice.groups, s.is_blocked && s.on_node == 1);
  const double runs = groups.is_staged || s.is_blocked ? 1 : s.on_node;
  const double share = s.node.phase({.stretch = s.bytes,
                                     .run = s.bytes,
                                     .writers = static_cast<double>(s.on_node),
                                     .taken = static_cast<double>(s.on_node),
                                     .readers = static_cast<double>(s.on_node)});
  const double messages = runs * (s.nodes - 1), bytes = s.of_node() / runs;
  const double at_once = s.on_node == 1 ? s.network.crossing(messages, bytes) : messages * s.network.serial(bytes);
  const double link = std::max(at_once, runs * s.network.carried(bytes));
  const double sent = messages / groups.count * s.is.overhead, received = messages * s.is.overhead;
  const double all = s.bytes * s.ranks;
  const cost::Phase spread{.stretch = all,
                           .run = s.is_blocked ? all : s.bytes,
                           .readers = static_cast<double>(s.on_node - (groups.is_staged ? 0 : 1)),
                           .is_both = groups.is_staged};
  // A master sends its part before it takes what has come meanwhile.
  const double carried = std::max(link, s.crowding.among_all(s.nodes) * s.of_node());
  const double came = s.is.latency + s.is.overhead + carried;
  return share + std::max(sent, came) + received + s.node.phase(spread);
}

/// One round in which all masters send to each other saves those of doubling (6 nodes x 4 ranks, 8 bytes: 6.4 us for
/// 11.1; played). Two groups halve what a master sends before it can take anything, and more make all messages meet at
/// once (128 ranks, 256 bytes: one group 22.3 us, two 18.9 to 22.8, eight 21.1 to 25.1 on three networks; simulated).
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  const topology::Topology& topology = candidates.topology();
  const bool keeps_order = candidates.keeps_order(), is_held = candidates.are_flows_held();
  if (!is_held && (candidates.is_oversubscribed() || (topology.nodes() <= 2 && !keeps_order))) return;
  const int all = topology.largest_node();
  for (const int groups : keeps_order ? std::set{std::min(64, all)} : candidates.numbers_of_groups()) {
    const bool is_worth_it = keeps_order ? groups == all : is_held || groups == std::min(2, all);
    if (!is_worth_it) continue;
    choice.groups = groups;
    candidates.vary_exchange(algorithm, choice, false);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "gather_based",
    .place = 8,
    .source = "Qian, Rashti, Afsahi 2008, section 5.2",
    .summary =
        "all ranks of a node share their data; g of them send the node's data to N - 1 other nodes, each to the one "
        "master there that gathers everything; it hands all data to its node",
    .knobs = "groups connections within cell cells staging leaders",
    .build = build,
    .propose = propose,
    .way = in_rounds,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_gather_based
