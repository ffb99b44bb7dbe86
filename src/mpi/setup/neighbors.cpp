#include "mpi/setup/neighbors.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "mpi/process/communicator.hpp"
#include "plan/graphs.hpp"

namespace espalier::mpi {
namespace {

int topology_of(MPI_Comm comm) {
  int status = MPI_UNDEFINED;
  return native().Topo_test(comm, &status) == MPI_SUCCESS ? status : MPI_UNDEFINED;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  native().Comm_rank(comm, &rank);
  return rank;
}

}  // namespace

bool has_process_topology(MPI_Comm comm) noexcept { return topology_of(comm) != MPI_UNDEFINED; }

Degrees degrees_of(MPI_Comm comm) noexcept {
  Degrees degrees;
  int dimensions = 0, is_weighted = 0;
  switch (topology_of(comm)) {
    case MPI_CART: native().Cartdim_get(comm, &dimensions); return {2 * dimensions, 2 * dimensions};
    case MPI_GRAPH: native().Graph_neighbors_count(comm, rank_in(comm), &degrees.in); return {degrees.in, degrees.in};
    case MPI_DIST_GRAPH: native().Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &is_weighted); break;
    default: break;
  }
  return degrees;
}

Neighbors::Neighbors(Rank me, Degrees degrees, const plan::Problem& common, std::vector<Outgoing> out,
                     std::vector<Incoming> in)
    : me_(me), degrees_(degrees), out_(std::move(out)), in_(std::move(in)) {
  for (const Outgoing& edge : out_) sent_blocks_.push_back(edge.block);
  for (const Incoming& edge : in_) received_blocks_.push_back(edge.block);
  using enum plan::Operation;
  for (const plan::Operation operation : {neighbor_allgather, neighbor_alltoall}) {
    plan::Problem& made = problem(operation);
    made = common;
    made.operation = operation;
    const auto add = [&](Rank from, Rank to, int part, int parts) {
      const bool is_one = operation == neighbor_allgather;  // block, hence part
      made.edges.push_back({.from = from, .to = to, .part = is_one ? 0 : part, .parts = is_one ? 1 : parts});
    };
    for (const Outgoing& edge : out_)
      if (edge.to != me) add(me, edge.to, edge.part, edge.parts);
    for (const Incoming& edge : in_) add(edge.from, me, edge.part, edge.parts);
  }
}

// ---- what a rank knows alone ----

NeighborLists list_neighbors(MPI_Comm comm) {
  const Degrees degrees = degrees_of(comm);
  NeighborLists lists{std::vector<int>(static_cast<std::size_t>(degrees.in)),
                      std::vector<int>(static_cast<std::size_t>(degrees.out))};
  std::vector<int>& sources = lists.sources;
  switch (topology_of(comm)) {
    case MPI_CART:
      for (int d = 0; 2 * d < degrees.in; ++d)  // down and up each dimension
        native().Cart_shift(comm, d, 1, &sources[static_cast<std::size_t>(2 * d)],
                            &sources[static_cast<std::size_t>(2 * d + 1)]);
      lists.destinations = sources;
      break;
    case MPI_GRAPH:
      native().Graph_neighbors(comm, rank_in(comm), degrees.in, sources.data());
      lists.destinations = sources;
      break;
    case MPI_DIST_GRAPH: {
      std::vector<int> weights(static_cast<std::size_t>(std::max(degrees.in, degrees.out)));
      native().Dist_graph_neighbors(comm, degrees.in, sources.data(), weights.data(), degrees.out,
                                    lists.destinations.data(), weights.data());
      break;
    }
    default: break;
  }
  return lists;
}

// Ranks on this node find this rank's blocks for them in parts of its window; what it has for itself or for other nodes
// takes no part.
void NeighborsSetUp::make_told() {
  const topology::Topology& topology = communicator_.engine()->topology();
  const Rank me = communicator_.engine()->me();
  const auto is_near = [&](int rank) {
    return rank != MPI_PROC_NULL && rank != me.value && topology.node_of(Rank(rank)) == topology.node_of(me);
  };
  const auto parts = static_cast<int>(std::count_if(destinations_.begin(), destinations_.end(), is_near));
  int part = 0;
  for (std::size_t block = 0; block < destinations_.size(); ++block) {
    const bool has_part = is_near(destinations_[block]);
    told_.push_back({static_cast<int>(block), has_part ? part : 0, has_part ? parts : 1});
    part += has_part;
  }
  told_.emplace_back();  // native wants buffers even for nothing
  heard_.assign(sources_.size() + 1, Told{});
}

int NeighborsSetUp::count_far(const std::vector<int>& ranks) const {
  const topology::Topology& topology = communicator_.engine()->topology();
  const NodeId here = topology.node_of(communicator_.engine()->me());
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](int rank) {
    return rank != MPI_PROC_NULL && topology.node_of(Rank(rank)) != here;
  }));
}

bool NeighborsSetUp::has_edges() const {
  const auto is_somebody = [](int rank) { return rank != MPI_PROC_NULL; };
  return std::any_of(sources_.begin(), sources_.end(), is_somebody) ||
         std::any_of(destinations_.begin(), destinations_.end(), is_somebody);
}

bool NeighborsSetUp::has_single_edges() const {
  const auto are_single = [](std::vector<int> ranks) {
    std::erase(ranks, MPI_PROC_NULL);
    std::sort(ranks.begin(), ranks.end());
    return std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
  };
  return are_single(sources_) && are_single(destinations_);
}

// ---- what neighbours tell each other ----

std::optional<int> NeighborsSetUp::advance(bool) noexcept {
  try {
    if (!std::exchange(has_started_, true))
      if (const int code = start(); code != MPI_SUCCESS) return code;
    for (MPI_Request& request : requests_) {
      int is_complete = 0;
      if (const int code = native().Test(&request, &is_complete, MPI_STATUS_IGNORE); code != MPI_SUCCESS) return code;
      if (!is_complete) return std::nullopt;
    }
    if (tells_all() && !std::exchange(is_telling_all_, true)) {
      const int code = start_telling_all();
      return code == MPI_SUCCESS ? std::nullopt : std::optional(code);
    }
    return conclude();
  } catch (const std::bad_alloc&) {
    native().Comm_call_errhandler(comm_, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
}

int NeighborsSetUp::start() {
  requests_.fill(native().request_null);
  degrees_ = degrees_of(comm_);
  is_cartesian_ = topology_of(comm_) == MPI_CART;
  NeighborLists lists = list_neighbors(comm_);
  sources_ = std::move(lists.sources);
  destinations_ = std::move(lists.destinations);
  make_told();
  mine_ = {-std::max(degrees_.in, degrees_.out), -std::max(count_far(sources_), count_far(destinations_)), has_edges(),
           has_single_edges()};
  const MPI_Datatype type = native().integer;
  const int code = native().Ineighbor_alltoall(told_.data(), 3, type, heard_.data(), 3, type, comm_, &requests_[0]);
  if (code != MPI_SUCCESS) return code;
  return native().Iallreduce(&mine_, &least_, common_ints, type, native().min, comm_, &requests_[1]);
}

/// What was told of the edge by which a block comes. Which edge of several between two ranks brought it is native's
/// matter.
const NeighborsSetUp::Told& NeighborsSetUp::find_told(int block) const {
  const int from = sources_[static_cast<std::size_t>(block)];
  std::vector<const Told*> all;
  std::size_t before = 0;  // edges from the same rank
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] != from) continue;
    if (is_cartesian_ && heard_[i][0] == (block ^ 1)) return heard_[i];
    all.push_back(&heard_[i]);
    before += static_cast<int>(i) < block;
  }
  std::sort(all.begin(), all.end(), [](const Told* a, const Told* b) { return (*a)[0] < (*b)[0]; });
  return *all[before];
}

/// Of so many edges each rank hears of all.
constexpr int most_told = 1 << 16;

/// A function of what all have heard.
bool NeighborsSetUp::tells_all() const {
  return least_.far_degree < 0 && -least_.degree <= most_told / communicator_.ranks();
}

int NeighborsSetUp::start_telling_all() {
  const auto degree = static_cast<std::size_t>(-least_.degree);
  row_ = destinations_;
  row_.resize(degree, MPI_PROC_NULL);
  rows_.resize(degree * static_cast<std::size_t>(communicator_.ranks()));
  const int count = static_cast<int>(degree);
  return native().Iallgather(row_.data(), count, native().integer, rows_.data(), count, native().integer, comm_,
                             &requests_[0]);
}

/// Edges of other nodes only count.
std::shared_ptr<const plan::Crossing> NeighborsSetUp::find_crossing() const {
  if (rows_.empty()) return nullptr;
  const topology::Topology& topology = communicator_.engine()->topology();
  std::vector<plan::Crossing::Edge> edges;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i] != MPI_PROC_NULL) edges.push_back({Rank(static_cast<int>(i / row_.size())), Rank(rows_[i])});
  plan::Crossing crossing = plan::derive_crossing(topology, std::move(edges));
  const NodeId here = topology.node_of(communicator_.engine()->me());
  std::erase_if(crossing.edges,
                [&](const auto& it) { return topology.node_of(it.from) != here && topology.node_of(it.to) != here; });
  crossing.edges.shrink_to_fit();
  return std::make_shared<const plan::Crossing>(std::move(crossing));
}

int NeighborsSetUp::conclude() {
  std::vector<Neighbors::Outgoing> out;
  std::vector<Neighbors::Incoming> in;
  for (std::size_t i = 0; i < destinations_.size(); ++i)
    if (destinations_[i] != MPI_PROC_NULL)
      out.push_back({Rank(destinations_[i]), static_cast<int>(i), told_[i][1], told_[i][2]});
  for (int block = 0; block < degrees_.in; ++block) {
    const int from = sources_[static_cast<std::size_t>(block)];
    if (from == MPI_PROC_NULL) continue;
    const auto& [their_block, part, parts] = find_told(block);
    in.push_back({Rank(from), block, their_block, part, parts});
  }
  std::sort(in.begin(), in.end(), [](const auto& a, const auto& b) {
    return std::pair(a.from, a.their_block) < std::pair(b.from, b.their_block);
  });
  plan::Problem common;
  common.degree = -least_.degree;
  common.far_degree = -least_.far_degree;
  common.reaches_all = least_.has_edges != 0;
  common.has_single_edges = least_.has_single_edges != 0;
  common.crossing = find_crossing();
  communicator_.learn_neighbors(
      std::make_shared<Neighbors>(communicator_.engine()->me(), degrees_, common, std::move(out), std::move(in)));
  return MPI_SUCCESS;
}

}  // namespace espalier::mpi
