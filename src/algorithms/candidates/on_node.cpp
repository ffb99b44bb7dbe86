#include "algorithms/candidates/on_node.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/scan/prefixes.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

using plan::Within;
using topology::Topology;

namespace {

/// A longer stage leaves its readers idle for too long (16K by two ranks: 4.2 us, in pieces of 4K 2.8 us).
constexpr Bytes most_in_one_stage = 16 << 10;

/// A reduce has three stages one after the other, which shorter pieces let overlap (two ranks, 16K: 4.2 us in pieces of
/// 2K, 2.8 us of 4K, 3.5 us of 8K).
Bytes short_piece(Operation operation) { return operation == Operation::reduce ? 4 << 10 : 8 << 10; }

/// Each edge is a call of the system, and many ranks that make them at once wait for each other (native / ours on 16
/// Xeon cores, a rank on each, edges of 64K: 4 of them 0.99 by single copy, 2.4 through cells; 26 of them 0.97
/// and 1.7). Two ranks do not: there native, which does the same, is 2.5 times as fast as cells on one machine, cells 2
/// times as fast as native on another.
Bytes shortest_single_copy_of_edge(int ranks_on_node) { return ranks_on_node <= 4 ? 64 << 10 : 256 << 10; }

/// Ranks that copy out of one buffer at once take turns at each of its pages in the kernel, so that the last is done
/// when all would be one after the other (Chakraborty, Subramoni, Panda 2017: contention of kernel-assisted
/// collectives). Broadcast of 256K on 16 Xeon cores, by single copy / through cells: 4 ranks 75 / 39 us, 8 ranks 204 /
/// 44, 16 ranks 440 / 47.
constexpr int crowd_at_one_buffer = 4;

/// In a sum everybody's vector is such a buffer (played inside nodes, 1M by single copy / through cells: 16 ranks below
/// one cache, allreduce 638 / 315 us, reduce 406 / 213; docs/nodes.md).
constexpr int crowd_at_all_buffers = 8;

/// So many ranks on a core keep it busy whatever one of them waits for.
constexpr int many_per_core = 4;

Bytes round_up_to(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

/// Parts of a line and more begin on one (smp/move/edges.hpp).
Bytes round_up_to_lines(Bytes bytes) { return bytes < 64 ? bytes : round_up_to(bytes, 64); }

/// What the busiest writer of a node passes to its neighbours.
Bytes passed_bytes(const Topology& topology, const Problem& problem) {
  const auto on_node = static_cast<Bytes>(topology.largest_node()), ranks = static_cast<Bytes>(topology.ranks());
  switch (problem.operation) {
    case Operation::scatter:
    case Operation::alltoall: return problem.bytes * on_node;
    case Operation::allgather: return topology.nodes() == 1 ? problem.bytes : problem.bytes * ranks;
    case Operation::reduce_scatter: return problem.bytes * ranks;
    case Operation::neighbor_alltoall: return round_up_to_lines(problem.bytes) * static_cast<Bytes>(problem.degree);
    case Operation::broadcast:
    case Operation::gather:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
    case Operation::barrier:
    case Operation::neighbor_allgather: return problem.bytes;
  }
  return problem.bytes;
}

}  // namespace

NodeCandidates::NodeCandidates(const Topology& topology, const Problem& problem, const cost::Parameters& parameters)
    : topology_(topology),
      problem_(problem),
      passed_(passed_bytes(topology, problem)),
      window_(topology.capabilities().window_bytes),
      cores_(parameters.cores),
      fills_(topology.ranks() * cost::bytes_of_a_rank(problem, topology.ranks()) / parameters.caches[1].bytes),
      stores_(writes_past_caches() ? plan::Stores::streaming : plan::Stores::cached) {}

void NodeCandidates::add(Choice choice) {
  add_cells(choice);
  if (!topology_.capabilities().single_copy || !is_single_copy_worth_it()) return;
  choice.within = Within::single_copy;
  all_.push_back(choice);
}

/// Each round along edges is a round of waiting for all of a rank's neighbours, whatever cells cost: few long cells,
/// and of blocks that all fit one, one.
void NodeCandidates::add_cells_for_edges(Choice choice) {
  choice.stores = stores_;
  if (problem_.bytes > 0 && passed_ <= window_ / 2) {
    choice.cell = std::max<Bytes>(round_up_to(passed_, 64), 64);
    choice.cells = 1;
    all_.push_back(choice);
    return;
  }
  choice.cells = 2;
  choice.cell = window_ / 2;
  all_.push_back(choice);
}

/// Whole, aligned elements for each reader in each cell.
void NodeCandidates::add_cells(Choice choice) {
  if (has_edges(problem_.operation)) return add_cells_for_edges(choice);
  choice.stores = stores_;
  const Bytes grain = is_reduction(problem_.operation) ? smp::Grain(problem_).bytes() : 1;
  const bool is_cut = problem_.operation == Operation::reduce_scatter && topology_.nodes() == 1;
  const Bytes least = grain * static_cast<Bytes>(is_cut ? topology_.ranks() : 1);
  const auto add = [&](Bytes cell, Bytes most) {
    choice.cell = std::max(cell / grain * grain, least);
    choice.cells = static_cast<int>(std::clamp<Bytes>(window_ / choice.cell, 1, most));
    all_.push_back(choice);
  };
  if (topology_.largest_node() == 1 && !is_scan()) return add(std::min<Bytes>(window_, 32 << 10), 1);
  const auto in_stage = static_cast<Bytes>(cells_in_one_stage(choice));
  // Reductions in levels have their operands in one half of a cell, and results in the other.
  const Bytes passed = passed_ * (choice.levels > 1 && is_reduction(problem_.operation) ? 2 : 1);
  const Bytes one_stage = round_up_to(std::max<Bytes>(passed, 64), std::lcm(grain, Bytes{64}));
  if (one_stage <= std::min(window_ / in_stage, most_in_one_stage)) add(one_stage, in_stage);
  // Nodes' parts are combined one behind the other, each in a cell of its own.
  const bool has_parts = problem_.operation == Operation::reduce_scatter && choice.between == Between::pairwise;
  const Bytes part = one_stage / static_cast<Bytes>(topology_.nodes());
  if (has_parts && part <= short_piece(problem_.operation)) add(round_up_to(part, std::lcm(grain, Bytes{64})), 8);
  for (const Bytes wanted : {short_piece(problem_.operation), Bytes{32} << 10})
    if (const Bytes cell = std::min(wanted, window_ / std::max<Bytes>(in_stage, 4)); cell < passed)
      add(cell, std::max<Bytes>(in_stage, 8));
  if (folds_on_many_cores() && choice.levels != 2) add_long_cells(choice);
  if (stores_ == plan::Stores::streaming && !topology_.capabilities().oversubscribed) add(window_ / 4, 4);
  if (all_write_on_shared_cores())
    for (const Bytes cells : {1, 2}) add(std::min(window_ / cells, round_up_to(passed_, 64 << 10)), cells);
}

void NodeCandidates::add_whole_window(Choice choice) {
  choice.stores = stores_;
  choice.cell = std::min<Bytes>(window_, 32 << 10);
  choice.cells = static_cast<int>(std::max<Bytes>(window_ / choice.cell, 1));
  all_.push_back(choice);
}

void NodeCandidates::add_long_cells(Choice choice) {
  for (const int cells : {1, 4}) {
    choice.cells = cells;
    choice.cell = window_ / static_cast<Bytes>(cells);
    all_.push_back(choice);
  }
}

/// Ranks that share cores share their caches, where cells stay: cells lose only where nobody reads twice, the root
/// does all the copying otherwise, and blocks are long (8 ranks on 2 cores, scatter: 16K 8 us and 13 us by single
/// copy, 64K 25 and 19, 256K 67 and 51; broadcast of 256K: 25 and 60).
bool NodeCandidates::is_single_copy_worth_it() const {
  if (has_edges(problem_.operation) && problem_.bytes < shortest_single_copy_of_edge(topology_.largest_node()))
    return false;
  if (topology_.largest_node() == 1) return false;
  if (problem_.operation == Operation::broadcast && topology_.largest_node() >= crowd_at_one_buffer) return false;
  const bool is_sum = problem_.operation == Operation::reduce || problem_.operation == Operation::allreduce;
  if (!topology_.capabilities().oversubscribed && is_slower_by_the_kernel()) return false;
  if (!topology_.capabilities().oversubscribed)
    return !is_sum || topology_.nodes() > 1 || topology_.ranks() < crowd_at_all_buffers;
  const bool is_dealt = problem_.operation == Operation::scatter || problem_.operation == Operation::gather;
  return is_dealt && problem_.bytes >= 64 << 10;
}

/// The kernel does not write past the caches (Xeon, single copy / cells so written, in ms: allgather of 1M, 8
/// ranks, 2.1 / 0.9, 16 ranks 5.3 / 3.3; all-to-all of 1M, 8 ranks, 2.2 / 2.9, 16 ranks 7.5 / 5.5, of 64K 0.3 / 0.4).
bool NodeCandidates::is_slower_by_the_kernel() const {
  if (stores_ != plan::Stores::streaming || fills_ < 2) return false;
  return topology_.ranks() >= (problem_.operation == Operation::allgather ? 8 : 16);
}

/// Ranks that take turns on few cores leave none idle while one of them fills a long cell: what counts is how often
/// they take turns, and that copies are long (a reduce_scatter's cells hold a slot for each rank: 2 cores that copy
/// and add 4K at a time read 14 GB/s each, 16K 19). Two cores, bench_node, cells of 32K x 8 / one as long as the
/// window, in us: reduce_scatter of 16K, 16 ranks, 257 / 146, of 256K, 8 ranks, 1051 / 843; allreduce of 1M, 16
/// ranks, 3236 / 2457; all-to-all of 256K, 8 ranks, 1505 / 1233. An allgather, whose cells are read by all, gains
/// nothing. Fewer ranks on a core keep what they had until more is measured (4 ranks, reduce_scatter of 16K
/// the same, of 64K 37 / 27).
bool NodeCandidates::all_write_on_shared_cores() const {
  if (!shares_cores_of_one_node() || topology_.ranks() < many_per_core * cores_) return false;
  const Operation operation = problem_.operation;
  return operation == Operation::reduce_scatter || operation == Operation::allreduce ||
         operation == Operation::alltoall;
}

/// Every rank of a large node folds a slice of each piece, and wants it long (2 nodes of 64 ranks, reduce of 32K: in
/// pieces of 4K 258 us, in one 38; simulated). An allreduce's are long by themselves where ranks are fewer (8 ranks:
/// one in twenty; 2 nodes of 64, 32K: 69 us, so 45; played).
bool NodeCandidates::folds_on_many_cores() const {
  if (topology_.capabilities().oversubscribed) return false;
  const Operation operation = problem_.operation;
  if (operation == Operation::allreduce) return topology_.largest_node() > 16;
  const bool folds_pieces = operation == Operation::reduce || operation == Operation::reduce_scatter;
  return folds_pieces && topology_.largest_node() > 4;
}

bool NodeCandidates::shares_cores_of_one_node() const {
  return topology_.nodes() == 1 && topology_.capabilities().oversubscribed;
}

/// Buffers of all ranks that fill the last-level cache drive results out of it before anybody reads them. Where cores
/// always have something to copy, a store that fetches its line first is then what takes longest (2 cores, 32 MB of
/// last-level cache, bench_node, cached / streaming, in ms: all-to-all of 256K, 8 ranks, 1.0 / 0.76, of 1M, 16 ranks,
/// 22 / 14; allgather of 1M, 8 ranks, 2.8 / 1.8, 16 ranks 12 / 6.5; allreduce of 1M, 16 ranks, 2.0 / 1.5. A rank on
/// each of 16 Xeon cores: all-to-all of 256K 2.0 / 1.2, of 1M 8.7 / 5.5; allgather of 256K 1.6 / 0.9, of 1M 5.9 / 3.3;
/// broadcast of 4M 1.4 / 0.8).
bool NodeCandidates::writes_past_caches() const {
  if (topology_.nodes() > 1) return false;
  const Operation operation = problem_.operation;
  const bool fills_all = operation == Operation::broadcast || operation == Operation::allgather ||
                         operation == Operation::alltoall ||
                         (operation == Operation::allreduce && shares_cores_of_one_node());
  return fills_all && fills_ >= 1;
}

/// Prefixes are cut into cells between nodes, too.
bool NodeCandidates::is_scan() const {
  return problem_.operation == Operation::scan || problem_.operation == Operation::exscan;
}

int NodeCandidates::cells_in_one_stage(const Choice& choice) const {
  return is_scan() && choice.between == Between::recursive_doubling ? doubling_scan_cells(topology_) : 1;
}

}  // namespace espalier::algorithms
