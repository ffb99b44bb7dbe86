#include "mpi/nonblocking/started_run.hpp"

#include <new>
#include <utility>

#include "mpi/calls/serve.hpp"
#include "mpi/run/progress/health.hpp"

namespace espalier::mpi {

using execute::Ending;

StartedRun::StartedRun(Communicator& communicator, MPI_Comm comm, Entry& entry, std::unique_ptr<Staging> staging,
                       const plan::Call& made)
    : communicator_(communicator),
      comm_(comm),
      problem_(entry.problem),
      kind_(entry.kind),
      program_(entry.program),
      staging_(std::move(staging)),
      is_in_memory_(communicator.engine()->is_in_memory() &&
                    (staging_->reducer() == nullptr || staging_->reducer()->is_own())),
      made_(made) {
  fetch(entry);
}

void StartedRun::fetch(Entry& entry) {
  ++entry.calls;
  code_.reset();
  if (const int code = staging_->fetch(comm_); code != MPI_SUCCESS) code_ = code;
}

std::optional<int> StartedRun::advance(bool is_next) noexcept {
  try {
    return go_on(is_next);
  } catch (const std::bad_alloc&) {
    return report(comm_, MPI_ERR_NO_MEM);
  }
}

std::optional<int> StartedRun::go_on(bool is_next) {
  if (code_) return code_;
  if (kind_ == Entry::Kind::nothing) return end(Ending());
  if (!run_ && !is_next) return std::nullopt;
  if (!run_ && communicator_.is_broken) return fail(communicator_, comm_);
  if (ended_) return end(*std::exchange(ended_, std::nullopt));
  if (!run_ && kind_ == Entry::Kind::tiny && communicator_.engine()->is_at_hand(problem_))
    return end(communicator_.engine()->run_at_hand(problem_, staging_->buffers(), staging_->reducer()));
  if (!run_) begin();
  if (const std::optional<Ending> ending = run_->advance()) return end(*ending);
  if (is_hopeless()) return end(run_->break_off());
  return std::nullopt;
}

void StartedRun::begin() {
  Engine& engine = *communicator_.engine();
  if (kind_ == Entry::Kind::tiny)
    run_.emplace(engine, problem_, staging_->buffers(), staging_->reducer());
  else
    run_.emplace(engine, problem_, *program_, staging_->buffers(), staging_->reducer(), true);
}

bool StartedRun::advance_aside(bool is_next) noexcept {
  if (!is_in_memory_ || code_ || ended_ || kind_ == Entry::Kind::nothing) return false;
  if (!run_ && (!is_next || communicator_.is_broken)) return false;
  try {
    if (!run_) begin();
  } catch (const std::bad_alloc&) {  // as it will be found to be
    return false;
  }
  ended_ = run_->advance();
  if (!ended_ || ended_->kind != Ending::done || !staging_->is_in_place()) return false;
  ended_.reset();
  run_.reset();
  return true;
}

// A size that others have in place of this rank's is not taken over: whoever has more room than is sent to it hears of
// that as of too little.
int StartedRun::end(Ending ending) {
  if (ending.kind == Ending::other) ending = run_->leave();
  run_.reset();
  const int code = ending.kind == Ending::broken ? MPI_SUCCESS : staging_->deliver(comm_, ending);
  return code == MPI_SUCCESS ? *conclude(communicator_, comm_, nullptr, ending) : code;
}

/// Asked now and then, as by waiters of blocking calls (mpi/run/progress/waiter.hpp).
bool StartedRun::is_hopeless() noexcept {
  if (!now_and_then_.is_due()) return false;
  run_->show(made_);
  return outlives_failures() && find_failure(comm_) != MPI_SUCCESS;
}

}  // namespace espalier::mpi
