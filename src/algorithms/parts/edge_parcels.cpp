#include "algorithms/parts/edge_parcels.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/parts/edge_messages.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "leaders/speakers.hpp"
#include "smp/move/edges.hpp"

namespace espalier::algorithms {

using plan::Crossing;
using plan::Flag;

namespace {

/// A block on its way between nodes: of an alltoall an edge's, of an allgather its sender's.
struct Block {
  Rank from;
  Rank to;     ///< of an alltoall
  int number;  ///< among those of this sender for this receiver

  bool operator==(const Block&) const = default;
};

/// What goes from one node to another, and who sends and receives it.
struct Parcel {
  NodeId from, to;
  Rank sender{0}, receiver{0};
  std::vector<Block> blocks;
};

bool has_one_block(const Problem& problem) { return problem.operation == Operation::neighbor_allgather; }

const Crossing::Most& most_of(const Problem& problem) {
  return has_one_block(problem) ? problem.crossing->allgather : problem.crossing->alltoall;
}

/// Where in a window parcels begin: behind the cells, where there are any.
Bytes begin_of_parcels(const Choice& choice) {
  return choice.within == plan::Within::cells ? smp::Cells(choice).total() : 0;
}

/// The bytes of a window that parcels may need on some rank, behind the cells: its own blocks, and what it receives.
Bytes window_of_parcels(const Problem& problem) {
  const auto own = static_cast<Bytes>(has_one_block(problem) ? 1 : problem.far_degree);
  return (own + static_cast<Bytes>(most_of(problem).blocks)) * problem.bytes;
}

/// All parcels that one node sends and gets: the same for all its ranks, and each the same for both its nodes.
class Parcels {
 public:
  Parcels(const topology::Topology& topology, const Problem& problem, const Choice& choice, NodeId node)
      : topology_(topology), groups_(choice.groups), speakers_(topology, problem, choice.leaders) {
    std::map<std::pair<NodeId, NodeId>, Parcel> parcels;
    std::map<std::pair<Rank, Rank>, int> numbers;
    for (const Crossing::Edge& edge : problem.crossing->edges) {
      const NodeId from = topology.node_of(edge.from), to = topology.node_of(edge.to);
      if (from != node && to != node) continue;
      Parcel& parcel = parcels.try_emplace({from, to}, Parcel{.from = from, .to = to, .blocks = {}}).first->second;
      participants_[{from, to}].insert(edge.from);
      participants_[{to, from}].insert(edge.to);
      Block block{edge.from, edge.to, numbers[{edge.from, edge.to}]++};
      if (has_one_block(problem)) block = {edge.from, Rank(0), 0};
      if (!has_one_block(problem) || parcel.blocks.empty() || parcel.blocks.back() != block)
        parcel.blocks.push_back(block);
    }
    for (auto& [ends, parcel] : parcels) {
      parcel.sender = leader(parcel.from, parcel.to);
      parcel.receiver = leader(parcel.to, parcel.from);
      (parcel.from == node ? out_ : in_).push_back(std::move(parcel));
    }
  }

  const std::vector<Parcel>& out() const { return out_; }
  const std::vector<Parcel>& in() const { return in_; }

 private:
  /// Who speaks on `node` with `other`: groups of other nodes, turn by turn, each with the next nearest of those that
  /// have edges there.
  Rank leader(NodeId node, NodeId other) {
    const std::set<Rank>& among = participants_.at({node, other});
    std::vector<Rank> nearest;
    for (const Rank rank : speakers_.near(node, topology_.size_of(node)))
      if (among.contains(rank)) nearest.push_back(rank);
    if (nearest.empty()) nearest.assign(among.begin(), among.end());
    const auto groups = std::min(static_cast<std::size_t>(groups_), nearest.size());
    return nearest[static_cast<std::size_t>(node.value + other.value) % groups];
  }

  const topology::Topology& topology_;
  int groups_;
  leaders::Speakers speakers_;
  std::map<std::pair<NodeId, NodeId>, std::set<Rank>> participants_;  ///< by their node and the other
  std::vector<Parcel> out_, in_;
};

/// Flags: `release` 1 says that a rank's own blocks are in its window, 1 + i that the first i parcels it receives are.
class ParcelProgram {
 public:
  ParcelProgram(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        choice_(choice),
        bytes_(problem.bytes),
        window_(begin_of_parcels(choice)),
        parcels_(builder.topology(), problem, choice, builder.node()),
        messages_(builder) {}

  void run() {
    find_own_blocks();
    start_receives();
    put_own_blocks();
    for (const Parcel& parcel : parcels_.out())
      if (parcel.sender == builder_.me()) send(parcel);
    smp::EdgeExchange(builder_, choice_, problem_.edges).run();
    show_received();
    take_blocks();
    messages_.finish_all();
  }

 private:
  bool is_mine(const plan::Edge& edge) const { return edge.from == builder_.me() || edge.to == builder_.me(); }
  bool is_far(const plan::Edge& edge) const {
    return builder_.topology().node_of(edge.from) != builder_.topology().node_of(edge.to);
  }
  LocalRank local(Rank rank) const { return builder_.topology().local_rank(rank); }
  bool has_neighbours() const { return builder_.node_size() > 1; }
  Bytes times(std::size_t count) const { return static_cast<Bytes>(count) * bytes_; }

  /// A rank's blocks in its window, in the order of parcels and of blocks in them. Everyone on the node knows that of
  /// everyone.
  std::vector<Block> blocks_in_window(Rank rank) const {
    std::vector<Block> blocks;
    for (const Parcel& parcel : parcels_.out())
      for (const Block& block : parcel.blocks)
        if (block.from == rank && (!has_one_block(problem_) || blocks.empty())) blocks.push_back(block);
    return blocks;
  }
  std::size_t place_in_window(const Block& block) {
    const auto [known, is_new] = in_window_.try_emplace(block.from);
    if (is_new) known->second = blocks_in_window(block.from);
    const std::vector<Block>& all = known->second;
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), block) - all.begin());
  }

  /// Where in the input a block of this rank begins.
  void find_own_blocks() {
    std::map<Rank, int> numbers;
    for (const plan::Edge& edge : problem_.edges)
      if (edge.from == builder_.me() && is_far(edge)) own_[{edge.to, numbers[edge.to]++}] = edge.input_begin;
  }
  Bytes begin_in_input(const Block& block) const {
    return has_one_block(problem_) ? 0 : own_.at({block.to, block.number});
  }

  void start_receives() {
    Bytes begin = window_ + times(has_one_block(problem_) ? 1 : static_cast<std::size_t>(problem_.far_degree));
    std::map<Rank, Bytes> ends;  // of what each rank of the node receives
    for (const Parcel& parcel : parcels_.in()) {
      const Bytes at = begin + ends[parcel.receiver];
      ends[parcel.receiver] += times(parcel.blocks.size());
      received_at_[parcel.from] = at;
      if (parcel.receiver != builder_.me()) continue;
      builder_.claim_window();
      received_.push_back(builder_.recv(parcel.sender, Buffer::window, at, times(parcel.blocks.size())));
    }
  }

  void put_own_blocks() {
    if (!has_neighbours()) return;
    const std::vector<Block> blocks = blocks_in_window(builder_.me());
    if (blocks.empty()) return;
    builder_.claim_window();
    smp::JoinedPuts puts(builder_, smp::Cells(choice_));
    for (std::size_t i = 0; i < blocks.size(); ++i)
      puts.add(0, {Buffer::input, begin_in_input(blocks[i]), bytes_}, window_ + times(i));
    puts.flush();
    builder_.post(Flag::release, 1);
  }

  void send(const Parcel& parcel) {
    const Bytes begin = scratch_;
    scratch_ += times(parcel.blocks.size());
    builder_.need_scratch(scratch_);
    Bytes at = begin;
    Rank awaited = builder_.me();
    for (const Block& block : parcel.blocks) {
      if (block.from == builder_.me()) {
        builder_.copy(Buffer::input, begin_in_input(block), Buffer::scratch, at, bytes_);
      } else {
        if (block.from != awaited) builder_.await(local(block.from), Flag::release, 1);
        awaited = block.from;
        builder_.get(local(block.from), window_ + times(place_in_window(block)), Buffer::scratch, at, bytes_);
      }
      at += bytes_;
    }
    messages_.add(builder_.send(parcel.receiver, Buffer::scratch, begin, at - begin));
  }

  void show_received() {
    std::uint64_t tick = 1;
    for (const std::uint32_t slot : received_) {
      builder_.finish(slot);
      ++tick;
      if (has_neighbours()) builder_.post(Flag::release, tick);
    }
  }

  /// The tick of a receiver's `release` that shows a parcel.
  std::uint64_t tick_of(const Parcel& parcel) const {
    std::uint64_t tick = 1;
    for (const Parcel& other : parcels_.in()) {
      tick += other.receiver == parcel.receiver;
      if (&other == &parcel) break;
    }
    return tick;
  }

  void take_blocks() {
    std::map<Rank, int> numbers;
    for (const plan::Edge& edge : problem_.edges)
      if (edge.to == builder_.me() && is_far(edge)) take({edge.from, edge.to, numbers[edge.from]++}, edge.output_begin);
  }

  void take(Block block, Bytes into) {
    if (has_one_block(problem_)) block = {block.from, Rank(0), 0};
    const NodeId from = builder_.topology().node_of(block.from);
    const Parcel& parcel =
        *std::find_if(parcels_.in().begin(), parcels_.in().end(), [&](const Parcel& it) { return it.from == from; });
    const auto place =
        static_cast<std::size_t>(std::find(parcel.blocks.begin(), parcel.blocks.end(), block) - parcel.blocks.begin());
    if (parcel.receiver != builder_.me()) builder_.await(local(parcel.receiver), Flag::release, tick_of(parcel));
    builder_.get(local(parcel.receiver), received_at_.at(from) + times(place), Buffer::output, into, bytes_);
  }

  Builder& builder_;
  const Problem& problem_;
  const Choice& choice_;
  Bytes bytes_;
  Bytes window_;  ///< where the parcels' part of it begins
  Parcels parcels_;
  InFlight messages_;
  std::map<std::pair<Rank, int>, Bytes> own_;  ///< blocks of this rank in its input, by receiver and number
  std::map<Rank, std::vector<Block>> in_window_;
  std::map<NodeId, Bytes> received_at_;  ///< in its receiver's window, by the node it comes from
  std::vector<std::uint32_t> received_;  ///< messages to this rank
  Bytes scratch_ = 0;
};

}  // namespace

void build_edge_parcels(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.crossing == nullptr || problem.bytes == 0) return build_edge_messages(builder, problem, choice);
  ParcelProgram(builder, problem, choice).run();
}

std::string why_no_edge_parcels(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (problem.crossing == nullptr) return "no edge is known to cross between nodes";
  if (problem.bytes == 0) return "all ranks must know the size of edges";
  if (static_cast<Bytes>(most_of(problem).parcel) * problem.bytes > (Bytes{1} << 30))
    return "a message between nodes would exceed 1G";
  const Bytes cells = begin_of_parcels(choice), parcels = window_of_parcels(problem);
  if (cells + parcels > topology.capabilities().window_bytes)
    return "cells and parcels exceed the window of " + std::to_string(topology.capabilities().window_bytes) +
           " bytes (ESPALIER_SHM_WINDOW)";
  return why_no_edges(topology, problem, choice);
}

/// Longer blocks of an alltoall save little by travelling together, and wait for each other (4 nodes x 4 ranks, 26
/// edges each, 1 Gbit/s, native / parcels: 64 bytes 4.2 under MPICH and 8.3 under Open MPI, 1K 0.7 and 0.96). An
/// allgather's travel once for many edges (16K: 7.0 and 6.1).
constexpr Bytes longest_in_parcels = 256;

void propose_edge_parcels(Candidates& candidates, const Algorithm&, Choice choice) {
  const Problem& problem = candidates.problem();
  if (!has_one_block(problem) && problem.bytes > longest_in_parcels) return;
  for (const int groups : {1, 2}) {
    choice.groups = groups;
    candidates.add(choice);
  }
}

double price_edge_parcels(const Scene& s) {
  if (s.problem.crossing == nullptr) return price_edge_messages(s);
  const auto& most = most_of(s.problem);
  const double groups = std::min<double>({static_cast<double>(s.choice.groups), s.on_node * 1.0, most.parcels * 1.0});
  const double far = s.problem.far_degree, own = has_one_block(s.problem) ? 1 : far;
  const double parts = has_one_block(s.problem) ? 1 : s.problem.degree;
  const double near = s.on_node == 1 ? 0 : s.node.along_edges(s.bytes, s.problem.degree - far, parts);
  const double flag = s.on_node == 1 ? 0 : s.node.flag_to_one();
  const double shown = s.on_node == 1 ? 0 : s.node.put(own * s.bytes) + flag;
  const double blocks = std::ceil(most.blocks / groups), parcels = std::ceil(most.parcels / groups);
  const double collected = blocks * s.node.get(s.bytes) + parcels * s.is.overhead;
  // Neighbours serve each other while parcels are under way.
  const double link = through_link(s, most.parcels, s.bytes * most.blocks / std::max(most.parcels, 1));
  return shown + collected + std::max(near, s.network.delay() + link) + flag + far * s.node.get(s.bytes);
}

}  // namespace espalier::algorithms
