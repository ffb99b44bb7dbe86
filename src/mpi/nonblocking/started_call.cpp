#include "mpi/nonblocking/started_call.hpp"

#include <new>
#include <utility>

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {

void StartedCall::take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) {
  run_.emplace(communicator, comm_, entry, std::move(staging));
}

std::optional<int> StartedCall::exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                                         std::function<std::optional<int>(Sizes)> next) {
  Entry& entry = communicator.engine()->prepare_run(problem);
  if (entry.kind == Entry::Kind::native || !communicator.engine()->may_run(entry)) return std::nullopt;
  exchange_.reset(new Exchange{{communicator, comm_, entry, memory_, std::move(own)}, std::move(next)});
  return MPI_SUCCESS;
}

// ---- deciding ----

bool StartedCall::decide(bool is_next) noexcept {
  try {
    return find_out(is_next);
  } catch (const std::bad_alloc&) {
    readiness_.reset();
    exchange_.reset();
    code_ = report(comm_, MPI_ERR_NO_MEM);
    return true;
  }
}

bool StartedCall::find_out(bool is_next) {
  if (readiness_ && !find_communicator()) return false;
  if (!std::exchange(is_tried_, true)) settle(communicator_ != nullptr ? attempt(*communicator_) : std::nullopt);
  return exchange_ == nullptr || await_sizes(is_next);
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

bool StartedCall::await_sizes(bool is_next) {
  const std::optional<int> code = exchange_->sizes.advance(is_next);
  if (!code) return false;
  const std::unique_ptr<Exchange> done = std::move(exchange_);
  settle(*code == MPI_SUCCESS ? done->next(done->sizes.take()) : code);
  return true;
}

/// What try_call() gave: native's call, an error, or one of ours.
void StartedCall::settle(std::optional<int> code) {
  is_natives_ = !code;
  if (!code) code = pass_on(&native_request_);
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
  const std::optional<int> code = run_->advance(is_next);
  return code && end(*code);
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
