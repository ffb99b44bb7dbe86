#include "mpi/setup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "execute/waiting.hpp"
#include "leaders/direction.hpp"
#include "mpi/agreement.hpp"
#include "mpi/facts.hpp"
#include "mpi/library.hpp"
#include "mpi/quiet.hpp"
#include "mpi/surroundings.hpp"
#include "mpi/survey.hpp"
#include "mpi/ucx_setup.hpp"
#include "transports/cross_memory.hpp"
#include "transports/mapped_memory.hpp"

namespace espalier::mpi {
namespace {

using transports::Arena;
using transports::ArenaName;

// Most shared memory for one communicator on one node; with many ranks their windows get smaller instead.
constexpr Bytes board_limit = Bytes{64} << 20;

// Where a node's leader has put the board, or why it could not.
struct Offer {
  enum State : std::int32_t { none, ready, over_limit, no_arena };
  std::int32_t state = none;
  ArenaName arena;
  Bytes offset = 0;
};

constexpr const char* shared_memory_is_short =
    "shared memory is short: raise ESPALIER_SHM_LIMIT, or the memory limit of the node's jobs";

const char* why_none(const Offer& offer) {
  if (offer.state == Offer::over_limit) return shared_memory_is_short;
  return "shared memory cannot be created (memfd_create): see dmesg and the container's limits";
}

/// The steps of set_up(), in order; each leaves what the next needs.
class SetUp {
 public:
  explicit SetUp(MPI_Comm comm) : comm_(comm) {
    check(mpi_.Comm_rank(comm, &rank_));
    check(mpi_.Comm_size(comm, &size_));
  }

  std::unique_ptr<Communicator> run() {
    int is_inter = 0;
    check(mpi_.Comm_test_inter(comm_, &is_inter));
    if (is_inter) return refuse("intercommunicator");
    if (size_ == 1) return std::make_unique<Communicator>("one rank");  // no loss, so not worth a line
    gather_facts();
    if (!agreement_.refusal.empty()) return refuse(agreement_.refusal);
    if (library_.settings().disable) return refuse("ESPALIER_DISABLE is set");  // everywhere: the settings are equal
    gather_offers();
    for (const Offer& offer : offers_)
      if (offer.state > Offer::ready) return withdraw(why_none(offer));
    switch (map_board()) {
      case Mapping::none:
        return refuse("a node's shared memory cannot be mapped by all its ranks (are they different users?)");
      case Mapping::empty: return refuse(shared_memory_is_short);
      case Mapping::whole: break;
    }
    return serve();
  }

 private:
  std::unique_ptr<Communicator> refuse(const std::string& reason) {
    if (rank_ == 0 && library_.settings().verbose >= 1)
      library_.say_once("communicators stay native: " + reason);  // one line per cause, however many they are
    return std::make_unique<Communicator>(reason);
  }

  void gather_facts() {
    Facts mine = probe_facts(library_.settings());
    disguise(mine);
    mine.virtual_node = library_.virtual_node();
    mine.table = library_.table() == nullptr ? 0 : library_.table()->hash();
    mine.communicators = library_.communicators();
    mine.place = library_.place().facts;
    facts_ = gather(mine);
    agreement_ = derive_agreement(facts_, library_.settings().assume_host_buffers);
    if (!agreement_.refusal.empty()) return;
    topology_ = topology::Topology::from_nodes(agreement_.node_of);
    const NodeId node = topology_->node_of(Rank(rank_));
    neighbours_ = topology_->ranks_on(node);
    shape_ = {topology_->size_of(node),
              derive_window(library_.settings().window, topology_->largest_node(), board_limit)};
  }

  void gather_offers() {
    Offer mine;
    if (neighbours_.front() == Rank(rank_)) mine = make_offer();
    offers_ = gather(mine);
  }

  Offer make_offer() {
    Offer offer;
    try {
      arena_ = library_.home_arena();
      const std::optional<Bytes> offset = arena_->allocate(execute::Board::bytes(shape_), shape_.ranks);
      offer.state = offset ? Offer::ready : Offer::over_limit;
      offer.arena = arena_->name();
      offer.offset = offset.value_or(0);
    } catch (const Error&) {
      offer.state = Offer::no_arena;
    }
    return offer;
  }

  // Some node has no memory: those that have give it back. Nobody else has opened it yet, so the leader does it for
  // all.
  std::unique_ptr<Communicator> withdraw(const std::string& reason) {
    const Offer& mine = offers_[static_cast<std::size_t>(rank_)];
    for (int user = 0; mine.state == Offer::ready && user < shape_.ranks; ++user) arena_->release(mine.offset);
    return refuse(reason);
  }

  // How far the worst off of all ranks has come.
  enum class Mapping : int { none, empty, whole };

  // Maps the node's board, fills this rank's part of it with pages, and tries single copy.
  Mapping map_board() {
    int mine[3] = {0, 0, 0};
    const Offer& offer = offers_[static_cast<std::size_t>(neighbours_.front().value)];
    try {
      if (arena_ == nullptr) arena_ = library_.open_arena(offer.arena);
      memory_.emplace(arena_, offer.offset);
      mine[0] = static_cast<int>(populate(offer.offset) ? Mapping::whole : Mapping::empty);
      mine[1] = can_copy_with(&SetUp::reaches_by_cma);
      mine[2] = can_copy_with(&SetUp::reaches_by_xpmem);
    } catch (const Error&) {
      // agreed on below
    }
    int all[3] = {0, 0, 0};
    MPI_Request request;
    check(start_minimum(mine, all, 3, comm_, &request));
    wait_quietly(request);
    means_ = derive_means(library_.settings().single_copy, {all[1] != 0, all[2] != 0});
    capabilities_ = {means_.any(), agreement_.oversubscribed, shape_.window_bytes, agreement_.turn};
    const auto mapping = static_cast<Mapping>(all[0]);
    if (mapping != Mapping::whole) memory_.reset();
    return mapping;
  }

  // What this rank writes, and the network writes for it, belongs to its own NUMA node (Goglin and Moreaud 2011,
  // section 3.2: a near leader next to its data).
  bool populate(Bytes board) const {
    for (const auto& part : execute::Board::parts_of(shape_, topology_->local_rank(Rank(rank_))))
      if (!arena_->populate(board + part.offset, part.bytes)) return false;
    return true;
  }

  // Neighbours are alike, so the next one and the first one stand for all; testing everybody would take quadratic time.
  bool can_copy_with(bool (*reaches)(const Facts&)) const {
    if (library_.settings().single_copy == CopyMeans::none) return false;
    if (shape_.ranks == 1) return true;
    const std::size_t me = static_cast<std::size_t>(topology_->local_rank(Rank(rank_)).value);
    return reaches(facts_of(neighbours_[(me + 1) % neighbours_.size()])) && reaches(facts_of(neighbours_.front()));
  }

  static bool reaches_by_cma(const Facts& theirs) {
    return transports::CrossMemory::is_allowed(theirs.pid, word_of(theirs), theirs.word);
  }
  static bool reaches_by_xpmem(const Facts& theirs) {
    const transports::Xpmem* xpmem = theirs.segment == 0 ? nullptr : transports::Xpmem::load();
    return xpmem != nullptr && transports::can_attach(*xpmem, theirs.segment, word_of(theirs), theirs.word);
  }
  static std::uint64_t* word_of(const Facts& theirs) { return reinterpret_cast<std::uint64_t*>(theirs.word_address); }
  const Facts& facts_of(Rank rank) const { return facts_[static_cast<std::size_t>(rank.value)]; }

  std::unique_ptr<Communicator> serve() {
    Means means;
    means.topology = topology::Topology::from_nodes(agreement_.node_of, capabilities_, agreement_.places);
    if (means.topology.nodes() > 1)
      means.topology = means.topology.with_distances(agree_on_distances(comm_, Rank(rank_), means.topology));
    library_.count_communicator();
    means.me = Rank(rank_);
    means.board = execute::Board(memory_->base(), shape_);
    if (means.topology.nodes() > 1) std::tie(means.network, means.transport) = make_network();
    means.single_copy = make_single_copy();
    const Waiting waiting = derive_waiting(library_.settings().waiting, capabilities_.oversubscribed);
    means.waiter = make_waiter(library_, waiting, capabilities_.oversubscribed, means.network.get());
    means.meter = make_meter(means.topology, means.me);
    means.rings = means.meter != nullptr || execute::may_sleep(waiting);
    if (agreement_.has_table) means.table = library_.table();
    report(means.topology);
    return std::make_unique<Communicator>(std::move(*memory_), std::move(means));
  }

  std::pair<std::unique_ptr<execute::Network>, Transport> make_network() {
    if (wanted_transport() == Transport::ucx) {
      UcxOpening ucx = open_ucx(comm_, find_far_rank(), is_one_host());
      if (ucx.network != nullptr) return {std::move(ucx.network), Transport::ucx};
      // Somebody asked for it, or tuned with it, so this is worth a line in any case.
      if (rank_ == 0) library_.say_once("messages between nodes go through MPI: " + ucx.refusal);
    }
    return {make_message_network(make_private_comm()), Transport::mpi};
  }

  // Equal on all ranks: a collective setting, or a table that all have.
  Transport wanted_transport() const {
    const Transport tuned = agreement_.has_table ? library_.table()->transport() : Transport::mpi;
    return library_.settings().transport.value_or(tuned);
  }

  // The next rank of another node.
  Rank find_far_rank() const {
    const NodeId mine = topology_->node_of(Rank(rank_));
    int far = rank_;
    do far = (far + 1) % size_;
    while (topology_->node_of(Rank(far)) == mine);
    return Rank(far);
  }

  bool is_one_host() const {
    return std::ranges::all_of(facts_, [&](const Facts& facts) { return facts.host == facts_[0].host; });
  }

  void report(const topology::Topology& topology) const {
    if (rank_ == 0 && library_.settings().verbose >= 1 && agreement_.has_different_tables)
      library_.say_once("the tuned table is not used: not all ranks have the same (see ESPALIER_TABLE)");
    if (rank_ != 0 || library_.settings().verbose < 2) return;
    library_.say("a communicator of " + std::to_string(size_) + " ranks on " + std::to_string(topology_->nodes()) +
                 " nodes, at most " + std::to_string(topology_->largest_node()) + " ranks on one; single copy " +
                 to_string(means_) + ", " +
                 (capabilities_.oversubscribed ? "more ranks than cores" : "a core for every rank") + ", windows of " +
                 format_bytes(capabilities_.window_bytes));
    if (topology.nodes() == 1) return;
    const leaders::Call call{plan::Operation::allgather, Rank(0),
                             library_.policy().leaders.value_or(plan::Leaders::near)};
    const leaders::NodeLeaders elected = leaders::derive_leaders(topology, NodeId(0), call);
    library_.say("NIC: " + library_.place().remark + "; rank " + std::to_string(elected.in_group(0).rank.value) +
                 " speaks for the first node: " + elected.reason);
  }

  std::unique_ptr<execute::SingleCopy> make_single_copy() const {
    std::vector<pid_t> pids;
    std::vector<transports::XpmemSegment> segments;
    for (const Rank rank : neighbours_) {
      pids.push_back(facts_of(rank).pid);
      segments.push_back(facts_of(rank).segment);
    }
    std::unique_ptr<execute::SingleCopy> cma;
    if (means_.cma) cma = std::make_unique<transports::CrossMemory>(std::move(pids));
    if (!means_.xpmem || shape_.ranks == 1) return cma;
    transports::Attaching attaching;
    if (library_.settings().single_copy == CopyMeans::xpmem || !means_.cma) attaching.worth = 0;
    return std::make_unique<transports::MappedMemory>(*transports::Xpmem::load(), segments, attaching, std::move(cma));
  }

  // MPI_Comm_create, unlike MPI_Comm_dup, does not run the copy functions of the program's own attributes. Errors on it
  // are ours to see.
  MPI_Comm make_private_comm() {
    MPI_Group group;
    MPI_Comm own = mpi_.comm_null;
    check(mpi_.Comm_group(comm_, &group));
    const int code = mpi_.Comm_create(comm_, group, &own);
    mpi_.Group_free(&group);
    check(code);
    mpi_.Comm_set_errhandler(own, mpi_.errors_return);
    return own;
  }

  template <class Record>
  std::vector<Record> gather(const Record& mine) const {
    return gather_quietly(comm_, size_, mine);
  }

  const Native& mpi_ = native();
  Library& library_ = Library::get();
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<Facts> facts_;
  Agreement agreement_;
  std::optional<topology::Topology> topology_;  ///< capabilities are not known before the end
  std::span<const Rank> neighbours_;
  execute::BoardShape shape_;
  std::vector<Offer> offers_;
  std::shared_ptr<Arena> arena_;
  std::optional<BoardMemory> memory_;
  SingleCopyMeans means_;
  topology::Capabilities capabilities_;
};

}  // namespace

std::unique_ptr<Communicator> set_up(MPI_Comm comm) {
  try {
    return SetUp(comm).run();
  } catch (const NativeFailure&) {
    return std::make_unique<Communicator>("the native library failed during set-up");
  } catch (const Error& error) {
    return std::make_unique<Communicator>(std::string("set-up failed: ") + error.what());
  }
}

}  // namespace espalier::mpi
