#include "mpi/nonblocking/leg.hpp"

#include <new>
#include <utility>

#include "mpi/calls/serve.hpp"
#include "mpi/run/health.hpp"

namespace espalier::mpi {

using execute::Ending;

Leg::Leg(Communicator& communicator, MPI_Comm comm, Entry& entry, std::unique_ptr<Staging> staging)
    : communicator_(communicator),
      comm_(comm),
      problem_(entry.problem),
      program_(entry.program),
      staging_(std::move(staging)) {
  ++entry.calls;
  if (const int code = staging_->fetch(comm); code != MPI_SUCCESS) code_ = code;
}

std::optional<int> Leg::advance(bool is_next) noexcept {
  try {
    return go_on(is_next);
  } catch (const std::bad_alloc&) {
    return report(comm_, MPI_ERR_NO_MEM);
  }
}

std::optional<int> Leg::go_on(bool is_next) {
  if (code_) return code_;
  if (program_ == nullptr) return end(Ending());
  if (!flight_ && !is_next) return std::nullopt;
  if (!flight_ && communicator_.is_broken) return fail(communicator_, comm_);
  if (!flight_)
    flight_.emplace(*communicator_.engine(), problem_, *program_, staging_->buffers(), staging_->reducer(), true);
  if (const std::optional<Ending> ending = flight_->advance()) return end(*ending);
  if (is_hopeless()) return end(flight_->break_off());
  return std::nullopt;
}

// A size that others have in place of this rank's is not taken over: whoever has more room than is sent to it hears of
// that as of too little.
int Leg::end(Ending ending) {
  if (ending.kind == Ending::other) ending = flight_->leave();
  flight_.reset();
  const int code = ending.kind == Ending::broken ? MPI_SUCCESS : staging_->deliver(comm_, ending);
  return code == MPI_SUCCESS ? conclude(communicator_, comm_, ending) : code;
}

/// Asked now and then, as by waiters of blocking calls (mpi/run/waiter.hpp).
bool Leg::is_hopeless() noexcept {
  constexpr std::uint32_t looks_between = 64;
  return ++looks_ % looks_between == 0 && outlives_failures() && find_failure(comm_) != MPI_SUCCESS;
}

}  // namespace espalier::mpi
