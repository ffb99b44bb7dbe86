#include "mpi/run/memory/shared_supplies.hpp"

#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/progress/health.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {
namespace {

constexpr LocalRank offering{0};
constexpr Bytes none = ~Bytes{0};

}  // namespace

std::byte* SharedSupplies::get_long_rings(bool is_needed) {
  std::atomic<Bytes>& offer = board_.notice(offering).rings;
  if (me_ == offering) offer.store(offer_rings(is_needed), std::memory_order_release);
  const Bytes place = wait_for_offer();
  if (place != none) rings_ = BoardMemory(arena_, place);
  if (agree(place != none && populate_own(place))) return arena_->at(place);
  rings_ = BoardMemory();
  return nullptr;
}

// Rings that only make calls faster leave most of the arena to those who could do nothing without.
Bytes SharedSupplies::offer_rings(bool is_needed) const {
  const Bytes bytes = execute::Board::long_ring_bytes(board_.shape().ranks);
  if (!is_needed && arena_->in_use() > Library::get().settings().shm_limit / 4) return none;
  return arena_->allocate(bytes, board_.shape().ranks).value_or(none);
}

// Who offers may come late to the call, and may be waiting for a message of this rank's. Or it has died.
Bytes SharedSupplies::wait_for_offer() const {
  const std::atomic<Bytes>& offer = board_.notice(offering).rings;
  for (std::uint32_t attempt = 1;; ++attempt) {
    if (const Bytes place = offer.load(std::memory_order_acquire)) return place;
    let_others_run();
    ProgressQueue::advance_pending();
    Library::get().progress().poke();
    if (attempt % 64 == 0 && find_failure(comm_) != MPI_SUCCESS) return none;
  }
}

// Each rank its own ring, so that it lies on the NUMA node of the rank that writes it.
bool SharedSupplies::populate_own(Bytes rings) const {
  const Bytes all = execute::Board::long_ring_bytes(board_.shape().ranks);
  const Bytes own = execute::Board::long_ring_bytes(1);
  return !transports::Arena::is_long(all) || arena_->populate(rings + static_cast<Bytes>(me_.value) * own, own);
}

// A native collective, which all ranks begin in the same order among those of this communicator.
void SharedSupplies::ask(bool mine) {
  const Discretion discretion(comm_);
  own_ = mine ? 1 : 0;
  all_ = 0;
  if (start_minimum(&own_, &all_, 1, comm_, &request_) != MPI_SUCCESS) request_ = native().request_null;
}

// Where native fails, it will at the call, too, and say so.
std::optional<bool> SharedSupplies::find_answer() {
  if (request_ == native().request_null) return all_ != 0;  // SMPI's MPI_Test does not say so
  const Discretion discretion(comm_);
  int is_complete = 0;
  if (native().Test(&request_, &is_complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  return is_complete ? std::optional(all_ != 0) : std::nullopt;
}

bool SharedSupplies::agree(bool mine) {
  ask(mine);
  if (may_wait_inside()) {
    const Discretion discretion(comm_);
    if (native().Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  }
  for (;;) {
    if (const std::optional<bool> answer = find_answer()) return *answer;
    ProgressQueue::advance_pending();
    let_others_run();
  }
}

}  // namespace espalier::mpi
