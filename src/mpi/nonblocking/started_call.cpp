#include "mpi/nonblocking/started_call.hpp"

#include <new>
#include <utility>

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

void StartedCall::take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) {
  run_.emplace(communicator, comm_, entry, std::move(staging), made_);
}

// Long calls wait for who is to help with them (ProgressQueue::add).
void StartedCall::take_first(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) {
  is_tried_ = true;
  take(communicator, entry, std::move(staging));
  if (entry.kind == Entry::Kind::tiny) first_ = run_->advance(true);
}

std::optional<int> StartedCall::exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                                         std::function<std::optional<int>(Sizes)> next) {
  Entry& entry = communicator.engine()->prepare_run(problem);
  if (entry.kind == Entry::Kind::native || !communicator.engine()->may_run(entry)) return std::nullopt;
  auto sizes = std::make_unique<SizesExchange>(communicator, comm_, entry, memory_, std::move(own), made_);
  SizesExchange& told = *sizes;
  return prepare(std::move(sizes), [&told, next = std::move(next)] { return next(told.take()); });
}

std::optional<int> StartedCall::prepare(std::unique_ptr<Preparation> preparation,
                                        std::function<std::optional<int>()> next) {
  before_.emplace(Before{std::move(preparation), std::move(next)});
  return MPI_SUCCESS;
}

// ---- deciding ----

bool StartedCall::decide(bool is_next) noexcept {
  try {
    return find_out(is_next);
  } catch (const std::bad_alloc&) {
    check_.reset();
    readiness_.reset();
    before_.reset();
    code_ = report(comm_, MPI_ERR_NO_MEM);
    return true;
  }
}

bool StartedCall::find_out(bool is_next) {
  const ToldAs own(nullptr);  // this thread may wait in another call
  if (check_ && !pass_check(is_next)) return code_.has_value();
  if (readiness_ && !find_communicator()) return false;
  if (!std::exchange(is_tried_, true)) settle(communicator_ != nullptr ? attempt(*communicator_) : std::nullopt);
  return !before_ || await_preparation(is_next);
}

/// False: not yet, or it failed.
bool StartedCall::pass_check(bool is_next) {
  const std::optional<int> code = check_->advance(is_next);
  if (!code) return false;
  check_.reset();
  if (*code != MPI_SUCCESS) code_ = code;
  return *code == MPI_SUCCESS;
}

bool StartedCall::find_communicator() {
  const std::optional<Communicator*> found = readiness_->find();
  if (!found) return false;
  readiness_.reset();
  if (*found != nullptr && (*found)->may_start())
    communicator_ = *found;
  else if (*found != nullptr)
    count(**found);
  return true;
}

bool StartedCall::await_preparation(bool is_next) {
  const std::optional<int> code = before_->preparation->advance(is_next);
  if (!code) return false;
  const Before done = std::move(*before_);
  before_.reset();
  settle(*code == MPI_SUCCESS ? done.next() : code);
  return !before_ || await_preparation(is_next);  // one preparation may follow another
}

/// What try_call() gave: native's call, an error, or one of ours.
void StartedCall::settle(std::optional<int> code) {
  is_natives_ = !code;
  if (!code) {
    Communicator* const known = Communicator::find_existing(comm_);
    const auto begin_natively = [&] { return pass_on(&native_request_); };
    code = known != nullptr && known->awaits_set_up() ? known->pass_on_early(begin_natively) : begin_natively();
  }
  if (*code != MPI_SUCCESS) code_ = code;
}

int StartedCall::take_natives(MPI_Request* request) const {
  *request = native_request_;
  return code_.value_or(MPI_SUCCESS);
}

// ---- running ----

bool StartedCall::advance(bool is_next) noexcept {
  if (code_) return end(*code_);
  if (is_natives_) return test_native();
  const std::optional<int> code = first_ ? first_ : run_->advance(is_next);
  return code && end(*code);
}

bool StartedCall::advance_aside(bool is_next) noexcept {
  return run_ && !code_ && !first_ && !request_->is_generalized() && run_->advance_aside(is_next) && end(MPI_SUCCESS);
}

bool StartedCall::test_native() noexcept {
  int is_complete = 0;
  const int code = native().Test(&native_request_, &is_complete, MPI_STATUS_IGNORE);
  return (is_complete || code != MPI_SUCCESS) && end(code);
}

bool StartedCall::end(int code) noexcept {
  request_->complete(code);
  return true;
}

}  // namespace espalier::mpi
