// A rank in a simulation (SimGrid's SMPI): one of many coroutines of one thread. Whatever waits must let simulated time
// pass, or nobody else ever runs; whatever works must let it pass, or it would be free.

#include "mpi/setup/surroundings.hpp"

#include <algorithm>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <string_view>
#include <vector>

#include "cost/step_time.hpp"
#include "execute/seat.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/messages/network.hpp"
#include "mpi/setup/facts.hpp"
#include "mpi/simulated/neighbourhood.hpp"
#include "mpi/simulated/network.hpp"

namespace espalier::mpi {
namespace {

using plan::Op;

class SimulatedWaiter final : public execute::Waiter {
 public:
  // Between the caller's look and this nothing can have happened.
  bool pause(std::uint32_t, execute::Bell* bell) noexcept override {
    bell == nullptr ? let_others_run() : bell->sleep(bell->announce(), {});
    return false;
  }
};

/// A rank that looks at a message can do nothing else until it is there (one step after the other), so it waits at
/// once: no polling, and no time lost between two looks.
class SimulatedNetwork final : public execute::Network {
 public:
  /// Takes over the communicator, whose ranks are those of the communicator it serves.
  explicit SimulatedNetwork(MPI_Comm comm) : comm_(comm) {}
  ~SimulatedNetwork() override {
    if (!Library::get().is_ending()) native().Comm_free(&comm_);
  }
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  void reserve(std::uint32_t slots) override {
    if (requests_.size() < slots) requests_.resize(slots, native().request_null);
    overhead_.resize(std::max<std::size_t>(overhead_.size(), slots));
  }
  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    const Native& mpi = native();
    overhead_[slot] = 0;
    return mpi.Isend(data, static_cast<int>(bytes), mpi.byte, to.value, tag_of(bytes), comm_, &requests_[slot]) ==
           MPI_SUCCESS;
  }
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    const Native& mpi = native();
    // SMPI itself charges the receiver of a message that did not wait for it (smpi/or), and only that one.
    overhead_[slot] = costs_.step + (is_eager(bytes) ? 0 : costs_.overhead);
    return mpi.Irecv(data, static_cast<int>(bytes), mpi.byte, from.value, tag_of(bytes), comm_, &requests_[slot]) ==
           MPI_SUCCESS;
  }
  Progress test(std::uint32_t slot) noexcept override {
    if (native().Wait(&requests_[slot], MPI_STATUS_IGNORE) != MPI_SUCCESS) return Progress::broken;
    let_time_pass(overhead_[slot]);
    return Progress::complete;
  }

 private:
  /// SMPI has a mailbox for short messages and one for long ones. Of two messages between the same ranks, a short and a
  /// long one, both under way, it loses one (3.32), unless they differ in their tags.
  int tag_of(Bytes bytes) const noexcept { return is_eager(bytes) ? 0 : 1; }
  bool is_eager(Bytes bytes) const { return static_cast<double>(bytes) <= costs_.eager; }

  const cost::Parameters costs_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;  ///< by slot
  std::vector<double> overhead_;       ///< by slot, of its receiver
};

/// Charges what cost::Play charges, so that a plan executed and a plan played through are the same experiment.
class SimulatedMeter final : public execute::Meter {
 public:
  SimulatedMeter(const topology::Topology& topology, Rank me)
      : me_(topology.local_rank(me)), ranks_(topology.ranks()), are_two_near_(cost::are_two_near(topology)) {}

  void begin(const plan::Problem& problem) override {
    is_ = cost::Parameters{}.met_by(cost::bytes_of_a_rank(problem, ranks_), are_two_near_);
  }

  void spend(std::span<const plan::Step> rest) noexcept override {
    const plan::Step& step = rest.front();
    double time = cost::copy_time(rest, me_, is_);
    if (cost::is_operand(rest)) time = cost::copy_time(rest.subspan(1), me_, is_) + is_.step;  // both are done at once
    if (step.op() == Op::pull || step.op() == Op::push)
      time = Neighbourhood::here().enter_kernel(me_, step.neighbour(), time, is_.together);
    let_time_pass(time + is_.step);
  }

  void post(execute::Seat& seat, plan::Flag flag, std::uint64_t tick) noexcept override {
    std::atomic<std::uint64_t>& word = seat.board().flag(me_, flag);
    const std::uint64_t value = execute::stamp(seat.call(), tick);
    execute::Bell& bell = seat.board().bell(me_);
    Neighbourhood& neighbours = Neighbourhood::here();
    simgrid::kernel::timer::Timer::set(simulated_now() + is_.flag, [&word, value, &bell, &neighbours] {
      word.store(value, std::memory_order_release);
      neighbours.wake_at(bell);
    });
  }

 private:
  LocalRank me_;
  int ranks_;
  bool are_two_near_;
  cost::Parameters is_;
};

}  // namespace

void let_others_run() noexcept { let_time_pass(1); }
bool may_wait_inside() noexcept { return false; }

// SMPI's own nonblocking collectives send ranks squared messages at once, each of which makes its model look at all
// others: minutes for 512 ranks. Its blocking ones can be trees (smpi/allgather, smpi/allreduce), and here, where every
// rank is a coroutine, they hold nobody up.
bool wake_helper() noexcept { return false; }

int start_gather(const void* mine, void* all, int bytes, MPI_Comm comm, MPI_Request* request) noexcept {
  *request = MPI_REQUEST_NULL;
  return PMPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
}

int start_minimum(const int* mine, int* least, int count, MPI_Comm comm, MPI_Request* request) noexcept {
  *request = MPI_REQUEST_NULL;
  return PMPI_Allreduce(mine, least, count, MPI_INT, MPI_MIN, comm);
}

bool sees_completion() noexcept { return false; }

// All ranks are one process; what tells nodes apart is the simulated host. Each rank has a core of its own.
void disguise(Facts& facts) {
  const std::string_view name = simgrid::s4u::this_actor::get_host()->get_cname();
  facts.host = hash_bytes(name.data(), name.size());
  facts.core_set = 0;
  facts.cores = facts.host_cores = std::numeric_limits<std::int32_t>::max();
  facts.processes_on_host = 0;
  facts.segment = 0;
  facts.handover = static_cast<std::int32_t>(machine::Handover::quick);
}

std::string probe_own_host(const Library&) { return simgrid::s4u::this_actor::get_host()->get_cname(); }

topology::Distances ask_for_distances(Library&, const Hosts& hosts) { return measure_network(hosts); }

std::unique_ptr<execute::Waiter> make_waiter(Library&, MPI_Comm, Waiting, bool, Watch&, execute::Network*) {
  return std::make_unique<SimulatedWaiter>();
}

std::unique_ptr<execute::Network> make_message_network(MPI_Comm comm, int, int) {
  return std::make_unique<SimulatedNetwork>(comm);
}

// There are no neighbourhoods.
const plan::Problem* describe_along_edges(Communicator&, plan::Operation, Bytes, bool) { return nullptr; }

std::unique_ptr<execute::Meter> make_meter(const topology::Topology& topology, Rank me) {
  return std::make_unique<SimulatedMeter>(topology, me);
}

}  // namespace espalier::mpi
