#include "mpi/nonblocking/own_request.hpp"

#include <utility>

#include "mpi/nonblocking/persistent_call.hpp"

namespace espalier::mpi {

// ---- one ----

void OwnRequest::activate() noexcept {
  is_complete_.store(false, std::memory_order_relaxed);
  is_active_ = true;
  has_left_ = false;
  Requests::get().latest_ = this;
}

int OwnRequest::generalize(MPI_Request* request) {
  if (generalized_ == nullptr) {
    auto made = std::make_unique<GeneralizedRequest>();
    if (const int code = made->start(); code != MPI_SUCCESS) return code;
    generalized_ = std::move(made);
    if (is_complete()) generalized_->complete(code_);
  }
  *request = generalized_->handle();
  return MPI_SUCCESS;
}

void OwnRequest::complete(int code) noexcept {
  code_ = code;
  if (generalized_ != nullptr) generalized_->complete(code);
  is_complete_.store(true, std::memory_order_release);
}

void OwnRequest::leave() noexcept {
  has_left_ = true;
  if (is_freed_) end();
}

void OwnRequest::deactivate() noexcept {
  if (generalized_ != nullptr) generalized_->free();
  generalized_.reset();
  is_active_ = false;
}

// An error handler may complete requests while the queue is at their calls.
void OwnRequest::end() noexcept {
  deactivate();
  if (persistent_ != nullptr && !is_freed_) return;
  is_freed_ = true;
  if (has_left_) Requests::get().give_back(*this);
}

std::unique_ptr<Pending> OwnRequest::free() noexcept {
  is_freed_ = true;
  if (!has_left_) return nullptr;
  deactivate();
  return Requests::get().give_back(*this);
}

// ---- all ----

Requests& Requests::get() {
  static Requests* const requests = new Requests;  // MPI may call back as late as MPI_Finalize
  return *requests;
}

OwnRequest* Requests::take(int* code) {
  if (free_.empty()) {
    if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 8);  // giving back never allocates
    MPI_Request handle = native().request_null;
    *code = native().Send_init(nullptr, 0, native().byte, MPI_PROC_NULL, 0, native().comm_self, &handle);
    if (*code != MPI_SUCCESS) return nullptr;
    free_.push_back((all_[handle] = std::make_unique<OwnRequest>(handle)).get());
  }
  OwnRequest* const taken = free_.back();
  free_.pop_back();
  return taken;
}

void Requests::begin(OwnRequest& request, std::unique_ptr<Pending> call) {
  request.call_ = std::move(call);
  use(request);
  request.activate();
}

void Requests::begin_over(OwnRequest& request) noexcept {
  use(request);
  request.activate();
  request.complete(MPI_SUCCESS);
  request.has_left_ = true;
}

void Requests::use(OwnRequest& request) noexcept {
  request.is_taken_ = true;
  used_.fetch_add(1, std::memory_order_relaxed);
}

void Requests::keep(OwnRequest& request, std::unique_ptr<PersistentCall> call) {
  request.persistent_ = call.get();
  request.call_ = std::move(call);
  use(request);
  persistent_.fetch_add(1, std::memory_order_relaxed);
}

OwnRequest* Requests::look_up(MPI_Request handle) noexcept {
  const auto found = all_.find(handle);
  if (found == all_.end() || !found->second->is_taken_) return nullptr;
  return found->second.get();
}

std::unique_ptr<Pending> Requests::give_back(OwnRequest& request) noexcept {
  if (latest_ == &request) latest_ = nullptr;
  std::unique_ptr<Pending> call = std::move(request.call_);
  const bool was_persistent = std::exchange(request.persistent_, nullptr) != nullptr;
  request.is_freed_ = request.is_taken_ = false;
  free_.push_back(&request);
  used_.fetch_sub(1, std::memory_order_relaxed);
  if (was_persistent) persistent_.fetch_sub(1, std::memory_order_relaxed);
  return call;
}

void Requests::clear() noexcept {
  for (const auto& [own, request] : all_) {
    MPI_Request handle = own;
    if (request->is_complete()) native().Request_free(&handle);
  }
}

// ---- in arrays ----

Generalized::Generalized(int count, MPI_Request* requests) : count_(count), callers_(requests) {
  const auto lock = ProgressQueue::get().lock();
  for (int i = 0; i < count; ++i) {
    OwnRequest* const own = Requests::get().find(requests[i]);
    if (own == nullptr) continue;
    if (copy_.empty()) {
      copy_.assign(requests, requests + count);
      own_.resize(static_cast<std::size_t>(count), nullptr);
    }
    const auto at = static_cast<std::size_t>(i);
    own_[at] = own;
    copy_[at] = native().request_null;
    if (own->is_active()) own->generalize(&copy_[at]);
  }
}

void Generalized::hand_back() noexcept {
  if (copy_.empty()) return;
  const auto lock = ProgressQueue::get().lock();
  const MPI_Request null = native().request_null;
  for (int i = 0; i < count_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (own_[at] == nullptr) {
      callers_[i] = copy_[at];
    } else if (copy_[at] == null && own_[at]->is_active()) {
      if (own_[at]->persistent() == nullptr) callers_[i] = null;
      own_[at]->forget_generalized();
      own_[at]->end();
    }
  }
}

}  // namespace espalier::mpi
