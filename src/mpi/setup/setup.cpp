#include "mpi/setup/setup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "execute/waiting/waiting.hpp"
#include "leaders/direction.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/memory/shared_supplies.hpp"
#include "mpi/run/messages/network.hpp"
#include "mpi/run/progress/health.hpp"
#include "mpi/setup/acquaintance.hpp"
#include "mpi/setup/agreement.hpp"
#include "mpi/setup/facts.hpp"
#include "mpi/setup/surroundings.hpp"
#include "mpi/setup/survey.hpp"
#include "mpi/setup/ucx_setup.hpp"
#include "transports/cross_memory.hpp"
#include "transports/mapped_memory.hpp"

namespace espalier::mpi {
namespace {

using transports::Arena;

// What a rank says to all others of the communicator.
struct Offer {
  /// The lowest rank of a node: where it has put the desks of all its ranks, or why nowhere.
  std::int64_t desks = 0;
  static constexpr std::int64_t over_limit = -1, no_arena = -2;
  /// What messages to this rank carry on World::messages().
  std::int32_t tag = 0;
  /// How many communicators it has set up so far.
  std::int32_t communicators = 0;
};
static_assert(sizeof(Offer) == 16);

const char* why_none(std::int64_t desks) {
  if (desks == Offer::over_limit)
    return "shared memory is short: raise ESPALIER_SHM_LIMIT, or the memory limit of the node's jobs";
  return "shared memory cannot be created (memfd_create): see dmesg and the container's limits";
}

/// The steps of set_up(), in order; each leaves what the next needs.
class SetUp {
 public:
  explicit SetUp(MPI_Comm comm) : comm_(comm) {
    check(mpi_.Comm_rank(comm, &rank_));
    check(mpi_.Comm_size(comm, &size_));
  }

  /// What a rank knows or finds out by itself, but for a world that has not met. Not null: a refusal.
  std::unique_ptr<Communicator> prepare() {
    int is_inter = 0;
    check(mpi_.Comm_test_inter(comm_, &is_inter));
    if (is_inter) return refuse("intercommunicator");
    if (size_ == 1) return std::make_unique<Communicator>("one rank");  // no loss, so not worth a line
    if (!find_facts()) return refuse("a member from outside MPI_COMM_WORLD (spawned, or connected to)");
    agreement_ = derive_agreement(facts_, library_.settings().assume_host_buffers);
    if (!agreement_.refusal.empty()) return refuse(agreement_.refusal);
    if (!library_.abstention().empty()) return refuse(library_.abstention());  // everywhere: the settings are equal
    find_neighbours();
    if (!find_memory()) return refuse("a node's shared memory cannot be mapped by all its ranks (different users?)");
    return nullptr;
  }

  // On one node only the first rank has something to say, which takes fewer messages.
  void start_offers() {
    if (neighbours_.front() == Rank(rank_)) mine_.desks = allocate_desks();
    if (needs_tag()) mine_.tag = library_.tags().take();
    mine_.communicators = static_cast<std::int32_t>(library_.communicators());
    constexpr int bytes = sizeof(Offer);
    offers_.assign(is_one_node() ? 1 : static_cast<std::size_t>(size_), mine_);
    if (is_one_node() && rank_ == 0 && mine_.desks > 0) introduce_all();
    check(is_one_node() ? mpi_.Ibcast(offers_.data(), bytes, mpi_.byte, 0, comm_, &exchange_)
                        : start_gather(&mine_, offers_.data(), bytes, comm_, &exchange_));
  }
  MPI_Request& exchange() { return exchange_; }

  /// Whether messages are to go by UCX, whose addresses are exchanged in conclude(). After prepare().
  bool uses_ucx() const { return !is_one_node() && wanted_transport() == Transport::ucx; }

  /// After the exchange.
  std::unique_ptr<Communicator> conclude() {
    offers_.resize(static_cast<std::size_t>(size_), offers_.front());
    for (const Offer& offer : offers_) {
      if (offer.desks < 0) return withdraw(why_none(offer.desks));
      if (members_ && Tags::of_frames(offer.tag) > library_.world().largest_tag())
        return withdraw("MPI has no more tags to tell messages apart by");
    }
    return serve();
  }

 private:
  std::unique_ptr<Communicator> refuse(const std::string& reason) {
    if (rank_ == 0 && library_.settings().verbose >= 1)
      library_.say_once("communicators stay native: " + reason);  // one line per cause, however many they are
    return std::make_unique<Communicator>(reason);
  }

  // False: not all members are of the world that has met. Whoever is not knows that, too.
  bool find_facts() {
    if (!library_.world().has_met()) {
      facts_ = gather(library_.make_facts());
      return true;
    }
    members_ = library_.world().find_members(comm_, size_);
    if (!members_) return false;
    for (const int member : *members_) facts_.push_back(library_.world().facts_of(member));
    return true;
  }

  void find_neighbours() {
    topology_ = topology::Topology::from_nodes(agreement_.node_of);
    const NodeId node = topology_->node_of(Rank(rank_));
    neighbours_ = topology_->ranks_on(node);
    shape_ = {topology_->size_of(node), agreement_.window};
  }

  // The arena of the node's lowest rank, and what neighbours can do with each other's memory.
  bool find_memory() {
    if (members_) {
      arena_ = library_.home_arena();
      works_ = library_.world().single_copy();
      return true;
    }
    const transports::ArenaName& name = facts_of(neighbours_.front()).arena;
    const Acquaintance acquaintance = get_acquainted(library_, comm_, facts_, rank_, name);
    works_ = acquaintance.works;
    if (acquaintance.has_mapped) arena_ = library_.open_arena(name);
    return acquaintance.has_mapped;
  }

  // Where MPI outlives failures, messages go on a communicator that can be revoked without others.
  bool needs_tag() const { return members_ && topology_->nodes() > 1 && !outlives_failures(); }

  bool is_one_node() const { return topology_->nodes() == 1; }

  std::int64_t allocate_desks() {
    if (arena_ == nullptr) return Offer::no_arena;
    const Bytes bytes = execute::Board::desk_bytes(shape_.ranks);
    const std::optional<Bytes> place = arena_->allocate(bytes, shape_.ranks);
    if (!place) return Offer::over_limit;
    if (!Arena::is_long(bytes) || arena_->populate(*place, bytes)) return static_cast<std::int64_t>(*place);
    for (int user = 0; user < shape_.ranks; ++user) arena_->release(*place);
    return Offer::over_limit;
  }

  // Some node has no memory: those that have give it back. Nobody else uses it yet, so the leader does it for all.
  std::unique_ptr<Communicator> withdraw(const std::string& reason) {
    const Offer& mine = offer_of(Rank(rank_));
    const bool has_desks = neighbours_.front() == Rank(rank_) && mine.desks > 0;
    for (int user = 0; has_desks && user < shape_.ranks; ++user) arena_->release(static_cast<Bytes>(mine.desks));
    if (needs_tag()) library_.tags().give_back(mine.tag);
    return refuse(reason);
  }

  std::unique_ptr<Communicator> serve() {
    const auto place = static_cast<Bytes>(offer_of(neighbours_.front()).desks);
    BoardMemory memory(arena_, place);
    Means means;
    means.topology = make_topology();
    library_.count_communicator();
    means.me = Rank(rank_);
    means.board = execute::Board(memory.base(), shape_, arena_->base());
    means.windows = &library_.windows_in(arena_);
    means.supplies = std::make_unique<SharedSupplies>(comm_, arena_, means.board, topology_->local_rank(Rank(rank_)),
                                                      *means.windows);
    if (means.topology.nodes() > 1) std::tie(means.network, means.transport) = make_network();
    means.single_copy = make_single_copy();
    const bool oversubscribed = agreement_.oversubscribed;
    const Waiting waiting = derive_waiting(library_.settings().waiting, oversubscribed);
    means.watch = std::make_unique<Watch>(means.board, topology_->local_rank(Rank(rank_)), identity_of(Rank(rank_)));
    means.waiter = make_waiter(library_, comm_, waiting, oversubscribed, *means.watch, means.network.get());
    means.meter = make_meter(means.topology, means.me);
    means.rings = means.meter != nullptr || execute::may_sleep(waiting);
    // Long rings take as long to get as some hundred calls (16 ranks on 16 cores: 0.5 ms), and few communicators but
    // the world live that long.
    if (comm_ != mpi_.comm_world) means.calls_in_use = 4096;
    means.may_start = agreement_.may_start;
    if (agreement_.has_table) means.table = library_.table();
    means.experience = &library_.experience();
    report(means.topology);
    return std::make_unique<Communicator>(std::move(memory), std::move(means));
  }

  // What tells communicators of the job apart while they live: where the desks of rank 0's node lie, in which arena.
  Identity identity_of(Rank rank) const {
    const bool is_world = comm_ == mpi_.comm_world;
    const std::uint64_t arena = facts_of(Rank(0)).arena.id;
    const std::uint64_t place = hash_bytes(&arena, sizeof arena, static_cast<std::uint64_t>(offer_of(Rank(0)).desks));
    const auto community = static_cast<std::uint32_t>(place) << 1 | (is_world ? 1U : 0U);
    const int world_rank = members_ ? (*members_)[static_cast<std::size_t>(rank.value)] : -1;
    return {community, facts_of(rank).pid, world_rank, rank.value, size_};
  }

  // The desks are rank 0's to make, and nobody else has heard of them yet.
  void introduce_all() const {
    const execute::Board board(arena_->at(static_cast<Bytes>(mine_.desks)), shape_, arena_->base());
    for (const Rank rank : neighbours_) Watch::introduce(board, topology_->local_rank(rank), identity_of(rank));
  }

  topology::Topology make_topology() {
    std::vector<std::int32_t> communicators;
    for (const Offer& offer : offers_) communicators.push_back(offer.communicators);
    means_ = derive_means(library_.settings().single_copy, works_);
    const topology::Capabilities capabilities{means_.any(),        agreement_.oversubscribed,
                                              shape_.window_bytes, derive_turn(communicators),
                                              agreement_.handover, agreement_.shared_cores};
    const auto topology = topology::Topology::from_nodes(agreement_.node_of, capabilities, agreement_.places);
    return library_.topologies().share(
        topology.nodes() == 1 ? topology : topology.with_distances(agree_on_distances(comm_, Rank(rank_), topology)));
  }

  std::pair<std::unique_ptr<execute::Network>, Transport> make_network() {
    if (wanted_transport() == Transport::ucx) {
      UcxOpening ucx = open_ucx(comm_, find_far_rank(), is_one_host());
      if (ucx.network != nullptr) {
        if (needs_tag()) library_.tags().give_back(offer_of(Rank(rank_)).tag);
        return {std::move(ucx.network), Transport::ucx};
      }
      // Somebody asked for it, or tuned with it, so this is worth a line in any case.
      if (rank_ == 0) library_.say_once("messages between nodes go through MPI: " + ucx.refusal);
    }
    if (!needs_tag()) return {make_message_network(make_private_comm(), size_, rank_), Transport::mpi};
    std::vector<Address> addresses;
    for (std::size_t r = 0; r < offers_.size(); ++r) addresses.push_back({(*members_)[r], offers_[r].tag});
    return {std::make_unique<WorldNetwork>(library_.world().messages(), library_.tags(), std::move(addresses), rank_),
            Transport::mpi};
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
    if (rank_ == 0) report_slower_paths(topology);
    if (rank_ != 0 || library_.settings().verbose < 2) return;
    library_.say("a communicator of " + std::to_string(size_) + " ranks on " + std::to_string(topology.nodes()) +
                 " nodes, at most " + std::to_string(topology.largest_node()) + " ranks on one; single copy " +
                 to_string(means_) + ", " +
                 (agreement_.oversubscribed ? "more ranks than cores" : "a core for every rank") + ", windows of " +
                 format_bytes(shape_.window_bytes));
    if (topology.nodes() == 1) return;
    const leaders::Call call{plan::Operation::allgather, Rank(0),
                             library_.policy().leaders.value_or(plan::Leaders::near)};
    const leaders::NodeLeaders elected = leaders::derive_leaders(topology, NodeId(0), call);
    library_.say("NIC: " + library_.place().remark + "; rank " + std::to_string(elected.in_group(0).rank.value) +
                 " speaks for the first node: " + elected.reason);
  }

  // As far as the launcher has told how many there are.
  bool has_split_hosts(const topology::Topology& topology) const {
    for (int r = 0; r < size_; ++r)
      if (facts_of(Rank(r)).processes_on_host > topology.size_of(topology.node_of(Rank(r)))) return true;
    return false;
  }

  // What the system keeps ranks of one host from: containers, mostly. That a setting is not followed is said in any
  // case.
  void report_slower_paths(const topology::Topology& topology) const {
    const CopyMeans wanted = library_.settings().single_copy;
    const bool has_neighbours = topology.largest_node() > 1;
    const bool lacks_wanted = wanted == CopyMeans::cma && !means_.cma;
    const bool is_told = library_.settings().verbose >= 1;
    if (has_neighbours && lacks_wanted)
      library_.say_once(
          "ESPALIER_SINGLE_COPY=cma is not followed: not all ranks of a node may read each other's memory");
    else if (is_told && has_neighbours && wanted != CopyMeans::none && !means_.any())
      library_.say_once("ranks of a node must not read each other's memory: long messages are copied twice");
    if (is_told && comm_ == mpi_.comm_world && library_.settings().virtual_nodes.empty() && has_split_hosts(topology))
      library_.say_once("ranks of a host are in containers, or namespaces, that share no memory: they count as " +
                        std::to_string(topology.nodes()) + " nodes");
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

  const Facts& facts_of(Rank rank) const { return facts_[static_cast<std::size_t>(rank.value)]; }
  const Offer& offer_of(Rank rank) const { return offers_[static_cast<std::size_t>(rank.value)]; }

  template <class Record>
  std::vector<Record> gather(const Record& mine) const {
    return gather_quietly(comm_, size_, mine);
  }

  const Native& mpi_ = native();
  Library& library_ = Library::get();
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  std::optional<std::vector<int>> members_;  ///< their numbers in the world, where that has met
  std::vector<Facts> facts_;
  Agreement agreement_;
  std::optional<topology::Topology> topology_;  ///< capabilities are not known before the end
  std::span<const Rank> neighbours_;
  execute::BoardShape shape_;
  std::shared_ptr<Arena> arena_;
  SingleCopyMeans works_;
  Offer mine_;
  std::vector<Offer> offers_;
  MPI_Request exchange_{};
  SingleCopyMeans means_;
};

}  // namespace

namespace {

/// What work() gives, or a communicator that says what failed.
template <class Work>
std::unique_ptr<Communicator> attempt(MPI_Comm comm, const Work& work) {
  const Discretion discretion(comm);
  try {
    return work();
  } catch (const NativeFailure&) {
    return std::make_unique<Communicator>("the native library failed during set-up");
  } catch (const Error& error) {
    return std::make_unique<Communicator>(std::string("set-up failed: ") + error.what());
  }
}

}  // namespace

std::unique_ptr<Communicator> set_up(MPI_Comm comm) {
  return attempt(comm, [comm] {
    SetUp set_up(comm);
    if (std::unique_ptr<Communicator> refusal = set_up.prepare()) return refusal;
    set_up.start_offers();
    wait_quietly(set_up.exchange());
    return set_up.conclude();
  });
}

struct GradualSetUp::State {
  MPI_Comm comm;
  std::optional<SetUp> work = {};
  std::unique_ptr<Communicator> refusal = {};  ///< known without a message
  bool is_exchanging = false;
};

GradualSetUp::GradualSetUp(std::unique_ptr<State> state) : state_(std::move(state)) {}
GradualSetUp::~GradualSetUp() = default;

std::unique_ptr<GradualSetUp> GradualSetUp::begin(MPI_Comm comm) {
  const Library& library = Library::get();
  // A communicator that can be revoked has to be created.
  if (!library.world().has_met() || outlives_failures() || !library.settings().fabric.empty()) return nullptr;
  auto state = std::make_unique<State>(State{comm});
  state->refusal = attempt(comm, [&state] {
    state->work.emplace(state->comm);
    return state->work->prepare();
  });
  if (state->refusal == nullptr && state->work->uses_ucx()) return nullptr;
  return std::unique_ptr<GradualSetUp>(new GradualSetUp(std::move(state)));
}

std::unique_ptr<Communicator> GradualSetUp::advance() {
  if (state_->refusal != nullptr) return std::move(state_->refusal);
  return attempt(state_->comm, [this]() -> std::unique_ptr<Communicator> {
    SetUp& work = *state_->work;
    if (!std::exchange(state_->is_exchanging, true)) work.start_offers();
    int is_complete = 0;
    check(native().Test(&work.exchange(), &is_complete, MPI_STATUS_IGNORE));
    return is_complete ? work.conclude() : nullptr;
  });
}

}  // namespace espalier::mpi
