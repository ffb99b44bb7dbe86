#include "collectives/candidates.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "collectives/node_candidates.hpp"
#include "collectives/registry.hpp"
#include "collectives/words.hpp"

namespace espalier::collectives {

using topology::Topology;

namespace {

/// From here on a ring has many more rounds than Bruck's exchange, and so has an exchange one by one. Fewer nodes have
/// been measured, and do without.
constexpr int many_nodes = 8;

/// Collects choices; each function below varies one thing.
class Candidates {
 public:
  Candidates(const Topology& topology, const Problem& problem, const cost::Parameters& parameters)
      : topology_(topology),
        problem_(problem),
        are_flows_held_(parameters.flow_rate < parameters.link_rate),
        on_node_(topology, problem, parameters) {}

  void add(const Algorithm& algorithm) {
    Choice choice;
    choice.between = algorithm.between;
    if (topology_.nodes() == 1) return on_node_.add(choice);
    if (is_alltoall_of_leaders(problem_, choice)) return vary_leaders(choice);
    if (algorithm.has_knob("groups"))
      return problem_.operation == Operation::allreduce ? vary_slices(choice) : vary_groups(choice, algorithm);
    const bool has_radix = algorithm.has_knob("radix"), has_segment = algorithm.has_knob("segment");
    for (const int radix : {2, 4}) {
      choice.radix = radix;
      if (radix > 2 && (!has_radix || radix > topology_.nodes())) continue;
      vary_segment(choice, has_segment);
      if (algorithm.between == Between::scatter_allgather && radix == 4 && topology_.nodes() >= many_nodes)
        on_node_.add(gathered_by_bruck(choice));
    }
    choice.radix = Choice{}.radix;
    choice.segment = 0;
    if (can_go_far_first(algorithm)) on_node_.add(far_first(choice));
    choice.connections = 1;
    if (algorithm.has_knob("connections") && can_take_turns()) on_node_.add(choice);
  }

  std::vector<Choice> take() && { return std::move(on_node_).take(); }

 private:
  static Choice gathered_by_bruck(Choice choice) {
    choice.exchange = plan::Exchange::bruck;
    return choice;
  }

  static Choice far_first(Choice choice) {
    choice.order = plan::Order::depth;
    return choice;
  }

  /// Of few nodes none is far, and those beyond a power of two would bring all they have at the end.
  bool can_go_far_first(const Algorithm& algorithm) const {
    return problem_.operation == Operation::allgather && algorithm.between == Between::recursive_doubling &&
           topology_.nodes() > many_nodes && std::has_single_bit(static_cast<unsigned>(topology_.nodes()));
  }

  /// Round a ring of leaders equal blocks keep in step by themselves.
  bool is_in_step(const Choice& choice) const {
    return problem_.operation == Operation::allgather && choice.between == Between::ring && problem_.counts.empty();
  }

  /// One message each way at a time, where whoever speaks has the link for itself.
  bool can_take_turns() const {
    const bool is_alone = problem_.operation == Operation::reduce_scatter || topology_.largest_node() == 1;
    return is_alone && topology_.nodes() > 2 && topology_.nodes() < many_nodes;
  }

  void vary_segment(Choice choice, bool has_segment) {
    has_segment = has_segment && !is_in_step(choice);
    for (const Bytes segment : {Bytes{0}, Bytes{16} << 10, Bytes{64} << 10, Bytes{256} << 10}) {
      choice.segment = segment;
      if (segment == 0 || (has_segment && segment < longest_message())) on_node_.add(choice);
    }
  }

  /// Every rank folds and exchanges a slice for its node, or four ranks do; where ranks have cores, and a node has more
  /// than one. Long cells, since each holds slots of all groups. Dividing by four takes half as many rounds as halving.
  void vary_slices(Choice choice) {
    const int most = std::min(topology_.largest_node(), 64);
    if (topology_.capabilities().oversubscribed || most == 1) return;
    choice.radix = problem_.is_commutative ? 4 : 2;
    for (const int groups : {most, 4}) {
      choice.groups = groups;
      for (const Bytes segment : {Bytes{0}, Bytes{64} << 10, Bytes{256} << 10}) {
        choice.segment = segment;
        if ((segment == 0 || segment < problem_.bytes) && groups <= most) on_node_.add_long_cells(choice);
      }
      if (groups == 4) break;  // once is enough
    }
  }

  /// One group, two, and as many as ranks, up to eight; what lies between is for those who tune. One group of other
  /// operations than allgather has simpler forms. Round a ring segments go on as they come; elsewhere they only make
  /// more messages.
  void vary_groups(Choice choice, const Algorithm& algorithm) {
    using plan::Exchange;
    if (!are_groups_worth_it(choice.between)) return;
    const bool has_segment = algorithm.has_knob("segment"), has_exchange = algorithm.has_knob("exchange");
    const bool doubles = problem_.operation == Operation::broadcast;  // an allgather has forms that do, for less
    choice.groups = problem_.operation == Operation::allgather ? 0 : 1;
    for (const int groups : numbers_of_groups()) {
      if (choice.groups == groups || !is_number_worth_it(choice.between, groups)) continue;
      choice.groups = groups;
      vary_exchange(choice, Exchange::direct, false);
      if (has_exchange && doubles) vary_exchange(choice, Exchange::recursive_doubling, false);
      if (has_exchange) vary_exchange(choice, Exchange::ring, has_segment);
    }
  }

  /// A reduce_scatter's groups divide the work of combining: of large nodes half of the ranks, or all (8 nodes x 64
  /// ranks, blocks of 1K: 8 groups 542 us, 32 groups 296; simulated).
  std::set<int> numbers_of_groups() const {
    const int all = std::min(64, topology_.largest_node()), most = std::min(8, all);
    if (keeps_order()) return {all};
    if (problem_.operation == Operation::reduce_scatter && all > most) return {1, 2, most, all / 2, all};
    return {1, std::min(2, most), most};
  }

  /// One leader, two, and as many as ranks, up to eight, or all (of large nodes what the ranks have for each other is
  /// work for all: 16 nodes x 64 ranks, 8 bytes: 8 groups 208 us, 64 groups 100; played). Between many nodes they
  /// may pass parcels on; relays take fewer messages the lower their radix is, and carry more bytes.
  void vary_leaders(Choice choice) {
    const bool has_groups = choice.between == Between::multi_group;
    const int all = std::min(64, topology_.largest_node()), most = std::min(8, all);
    if (has_groups && (most == 1 || !are_groups_worth_it(choice.between))) return;
    for (const int groups : has_groups ? std::set{2, most, all} : std::set{choice.groups}) {
      choice.groups = groups;
      choice.exchange = plan::Exchange::direct;
      choice.radix = Choice{}.radix;
      on_node_.add_cells(choice);
      choice.exchange = plan::Exchange::bruck;
      for (choice.radix = 2; choice.radix <= 8 && topology_.nodes() >= many_nodes; choice.radix *= 2)
        on_node_.add_cells(choice);
    }
  }

  /// Where one connection does not fill the link. Elsewhere they only share out work, of which an allgather and a
  /// broadcast have little, to cores that ranks must have (4 x 4 ranks on 2 cores: an allgather of 4K takes 1.2 times
  /// as long). One round in which all masters send to each other saves those of doubling (6 nodes x 4 ranks, 8 bytes:
  /// 6.4 us for 11.1; played).
  bool are_groups_worth_it(Between between) const {
    const bool saves_rounds = between == Between::gather_based && topology_.nodes() > 2;
    const bool has_work = problem_.operation == Operation::alltoall || problem_.operation == Operation::reduce_scatter;
    return are_flows_held_ || ((has_work || saves_rounds || keeps_order()) && !topology_.capabilities().oversubscribed);
  }

  /// Where a node's ranks do not follow each other, a leader has to put all blocks of all nodes in order. Ranks that
  /// each exchange their own need not (16 nodes x 8 ranks, cyclic, 64K: 891 us for 1541; played). Of short blocks
  /// those are many messages for little copying.
  bool keeps_order() const {
    return problem_.operation == Operation::allgather && !topology_.is_blocked() && topology_.largest_node() > 1 &&
           problem_.bytes >= 8 << 10;
  }

  /// Two groups halve what a master sends before it can take anything, and more make all messages meet at once (128
  /// ranks, 256 bytes: one group 22.3 us, two 18.9 to 22.8, eight 21.1 to 25.1 on three networks; simulated).
  bool is_number_worth_it(Between between, int groups) const {
    if (keeps_order()) return groups == topology_.largest_node();
    return between != Between::gather_based || are_flows_held_ || groups == std::min(2, topology_.largest_node());
  }

  void vary_exchange(Choice choice, plan::Exchange exchange, bool has_segment) {
    choice.exchange = exchange;
    vary_segment(choice, has_segment);
  }

  /// What there is to cut: a node's blocks or a vector.
  Bytes longest_message() const {
    const bool is_of_node = problem_.operation == Operation::scatter || problem_.operation == Operation::gather ||
                            problem_.operation == Operation::allgather;
    return problem_.bytes * static_cast<Bytes>(is_of_node ? topology_.largest_node() : 1);
  }

  const Topology& topology_;
  const Problem& problem_;
  bool are_flows_held_;     ///< one connection does not fill a link
  NodeCandidates on_node_;  ///< all there are so far
};

/// On one node only two things are done in more than one way: combining, and handing on prefixes.
bool is_new_on_one_node(const Algorithm& algorithm, const Algorithm* before) {
  if (before == nullptr) return true;
  if (algorithm.operation == Operation::allreduce)
    return algorithm.between == Between::gather_reduce || algorithm.between == Between::rabenseifner;
  const bool is_scan = algorithm.operation == Operation::scan || algorithm.operation == Operation::exscan;
  return is_scan && algorithm.between != Between::recursive_doubling;
}

/// The paper's groups move what its Table 1 says; multi_group_lean does the same exchange with less.
bool has_leaner_form(const Algorithm& algorithm) {
  return algorithm.operation == Operation::allgather &&
         (algorithm.between == Between::single_group_ring || algorithm.between == Between::single_group_direct ||
          algorithm.between == Between::multi_group);
}

/// Binary trees are for many nodes whose leaders pass every segment on through cells: that keeps the next one back
/// until the last has left. Otherwise all segments are under way at once, and where messages share a link none is early
/// (64 nodes, 1 MB, segments of 16K, simulated: 270 us, by single copy or with a rank per node 590).
bool suits(const Algorithm& algorithm, const Topology& topology) {
  return algorithm.between != Between::binary || (topology.nodes() >= many_nodes && topology.largest_node() > 1);
}

}  // namespace

std::vector<Choice> derive_candidates(const Topology& topology, const Problem& problem,
                                      const cost::Parameters& parameters) {
  Candidates candidates(topology, problem, parameters);
  const Algorithm* before = nullptr;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation != problem.operation) continue;
    const bool is_candidate = topology.nodes() > 1 ? !has_leaner_form(algorithm) && suits(algorithm, topology)
                                                   : is_new_on_one_node(algorithm, before);
    if (is_candidate) candidates.add(algorithm);
    before = &algorithm;
  }
  return std::move(candidates).take();
}

}  // namespace espalier::collectives
