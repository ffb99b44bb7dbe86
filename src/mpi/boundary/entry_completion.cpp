// What completes requests: while calls of ours are pending, all of it advances them, and requests of ours are completed
// here. Without any it is native's, for a look at two flags.

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/while_pending.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/observe/started.hpp"

namespace espalier::mpi {
namespace {

// ---- requests of ours ----

/// Null: it is not ours.
OwnRequest* find_own(const MPI_Request* request) noexcept {
  if (!Requests::are_used() || request == nullptr) return nullptr;
  const auto lock = ProgressQueue::get().lock();
  return Requests::get().find(*request);
}

/// Native's own of a request that is null, which all of ours give.
void make_empty(MPI_Status* status) noexcept {
  MPI_Request null = native().request_null;
  if (status != MPI_STATUS_IGNORE) native().Wait(&null, status);
}

/// The program completes one that is complete; one that is not active is as if it were null. MPI's code. Under the
/// lock.
int end_locked(OwnRequest& own, MPI_Request* request) noexcept {
  if (!own.is_active()) return MPI_SUCCESS;
  const int code = own.code();
  if (own.persistent() == nullptr) *request = native().request_null;
  own.end();
  return code;
}

int end(OwnRequest& own, MPI_Request* request) noexcept {
  const auto lock = ProgressQueue::get().lock();
  return end_locked(own, request);
}

/// Most short calls are over when they are waited for: one look under one lock. MPI's code of such a request of ours.
std::optional<int> end_if_over(MPI_Request* request, MPI_Status* status) noexcept {
  if (!Requests::are_used() || request == nullptr) return std::nullopt;
  const auto lock = ProgressQueue::get().lock();
  OwnRequest* const own = Requests::get().find(*request);
  if (own == nullptr || !own->is_complete()) return std::nullopt;
  make_empty(status);
  return end_locked(*own, request);
}

/// After a look at one that is not complete: whoever it waits for goes on. MPI's code.
int not_yet() noexcept {
  poke_native();
  let_others_advance();
  return MPI_SUCCESS;
}

int wait_for_own(OwnRequest& own, MPI_Request* request, MPI_Status* status) noexcept {
  if (!own.is_complete()) wait_while_busy([&] { return own.is_complete(); });
  make_empty(status);
  return end(own, request);
}

int test(OwnRequest& own, MPI_Request* request, int* flag, MPI_Status* status) noexcept {
  if (!own.is_complete()) ProgressQueue::get().advance();
  *flag = own.is_complete();
  if (!*flag) return not_yet();
  make_empty(status);
  return end(own, request);
}

/// An array of requests that are completed together: native's, with null in the place of active ones of ours, and
/// those.
class Together {
 public:
  /// `statuses` may be ignored.
  Together(int count, MPI_Request* callers, MPI_Status* statuses)
      : count_(count), callers_(callers), statuses_(statuses), natives_(callers, callers + count) {
    for (int i = 0; i < count; ++i) {
      OwnRequest* const own = find_own(&callers[i]);
      if (own == nullptr) continue;
      natives_[static_cast<std::size_t>(i)] = native().request_null;
      own_.emplace_back(i, own);
    }
  }

  /// Whether all are complete. Natives that are have been completed.
  bool test() noexcept {
    if (!are_natives_done_) take(native().Testall(count_, natives_.data(), &are_natives_done_, statuses_));
    return are_natives_done_ && are_own_complete();
  }
  bool are_own_complete() const {
    return std::all_of(own_.begin(), own_.end(), [](const auto& own) { return own.second->is_complete(); });
  }
  /// When ours are complete.
  void wait() noexcept {
    if (!are_natives_done_) take(native().Waitall(count_, natives_.data(), statuses_));
  }
  /// The program has completed all. MPI's code.
  int end() noexcept {
    std::size_t next = 0;
    for (int i = 0; i < count_; ++i) {
      const bool is_own = next < own_.size() && own_[next].first == i;
      if (!is_own) callers_[i] = natives_[static_cast<std::size_t>(i)];
      if (is_own)
        if (const int code = mpi::end(*own_[next++].second, &callers_[i]); code != MPI_SUCCESS) fail(i, code);
    }
    return code_;
  }

 private:
  void take(int code) noexcept {
    if (code == MPI_SUCCESS) return;
    code_ = code;
    are_natives_done_ = true;
  }
  void fail(int at, int code) noexcept {
    if (statuses_ != MPI_STATUSES_IGNORE) {
      for (int i = 0; i < count_ && code_ == MPI_SUCCESS; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
      statuses_[at].MPI_ERROR = code;
    }
    code_ = MPI_ERR_IN_STATUS;
  }

  int count_;
  MPI_Request* callers_;
  MPI_Status* statuses_;
  std::vector<MPI_Request> natives_;
  std::vector<std::pair<int, OwnRequest*>> own_;
  int are_natives_done_ = 0;
  int code_ = MPI_SUCCESS;
};

int wait_for_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  Together together(count, requests, statuses);
  if (!wait_while_busy([&] { return together.test(); })) together.wait();
  return together.end();
}

/// Natives are not asked before ours are complete: those that are would be completed by that.
int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Together together(count, requests, statuses);
  ProgressQueue::advance_pending();
  *flag = together.are_own_complete() && together.test();
  return *flag ? together.end() : not_yet();
}

/// Those that are used may be in the array.
bool may_have_own(int count, const MPI_Request* requests) noexcept {
  return Requests::are_used() && count > 0 && requests != nullptr;
}

/// MPI's code, also where there is no memory for the array: then nothing has been completed.
template <class Work>
int guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return report(native().comm_world, MPI_ERR_NO_MEM);
  }
}

/// `complete(all)` on the array as native can look at it.
template <class Complete>
[[gnu::always_inline]] inline int with_own(int count, MPI_Request* requests, const Complete& complete) noexcept {
  if (!may_have_own(count, requests)) [[likely]]
    return complete(requests);
  return guarded([&] {
    Generalized generalized(count, requests);
    const int code = complete(generalized.requests());
    generalized.hand_back();
    return code;
  });
}

/// Ends the use of a handle that our calls may still use: later, if there are any.
template <class Handle>
int free(Handle* handle, Handle null, int (*natively)(Handle*)) noexcept {
  const bool is_used = ProgressQueue::is_busy() || Requests::has_persistent();
  if (!is_used || handle == nullptr || *handle == null) [[likely]]
    return natively(handle);
  ProgressQueue::get().when_idle([kept = *handle, natively]() mutable { natively(&kept); });
  *handle = null;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

// ---- requests ----

ESPALIER_CALL(Wait, (MPI_Request * request, MPI_Status* status), (request, status)) {
  const Completion seen(1, request, [](int) { return true; });
  if (const std::optional<int> code = end_if_over(request, status)) return *code;
  if (OwnRequest* const own = find_own(request)) return wait_for_own(*own, request, status);
  return wait_for(request, status);
}

ESPALIER_CALL(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status)) {
  const Completion seen(1, request, [=](int) { return *flag != 0; });
  if (const std::optional<int> code = end_if_over(request, status)) return *flag = 1, *code;
  if (OwnRequest* const own = find_own(request)) return test(*own, request, flag, status);
  return look([=](const Native& mpi) { return mpi.Test(request, flag, status); });
}

ESPALIER_CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses)) {
  const Completion seen(count, requests, [](int) { return true; });
  if (may_have_own(count, requests)) return guarded([=] { return wait_for_all(count, requests, statuses); });
  return wait([=](const Native& mpi) { return mpi.Waitall(count, requests, statuses); },
              [=](const Native& mpi, int* is_done) { return mpi.Testall(count, requests, is_done, statuses); });
}

ESPALIER_CALL(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
              (count, requests, flag, statuses)) {
  const Completion seen(count, requests, [=](int) { return *flag != 0; });
  if (may_have_own(count, requests)) return guarded([=] { return test_all(count, requests, flag, statuses); });
  return look([=](const Native& mpi) { return mpi.Testall(count, requests, flag, statuses); });
}

ESPALIER_CALL(Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status),
              (count, requests, index, status)) {
  const Completion seen(count, requests, [=](int place) { return place == *index; });
  return with_own(count, requests, [=](MPI_Request* all) {
    return wait([=](const Native& mpi) { return mpi.Waitany(count, all, index, status); },
                [=](const Native& mpi, int* is_done) { return mpi.Testany(count, all, index, is_done, status); });
  });
}

ESPALIER_CALL(Waitsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
              (count, requests, done, indices, statuses)) {
  const Completion seen(count, requests, [=](int place) { return is_among(place, *done, indices); });
  return with_own(count, requests, [=](MPI_Request* all) {
    return wait([=](const Native& mpi) { return mpi.Waitsome(count, all, done, indices, statuses); },
                [=](const Native& mpi, int* is_done) {
                  const int code = mpi.Testsome(count, all, done, indices, statuses);
                  *is_done = *done != 0;  // MPI_UNDEFINED: there was none to wait for
                  return code;
                });
  });
}

ESPALIER_CALL(Testany, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
              (count, requests, index, flag, status)) {
  const Completion seen(count, requests, [=](int place) { return *flag != 0 && place == *index; });
  return with_own(count, requests, [=](MPI_Request* all) {
    return look([=](const Native& mpi) { return mpi.Testany(count, all, index, flag, status); });
  });
}

ESPALIER_CALL(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
              (count, requests, done, indices, statuses)) {
  const Completion seen(count, requests, [=](int place) { return is_among(place, *done, indices); });
  return with_own(count, requests, [=](MPI_Request* all) {
    return look([=](const Native& mpi) { return mpi.Testsome(count, all, done, indices, statuses); });
  });
}

ESPALIER_CALL(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status)) {
  if (const OwnRequest* const own = find_own(&request)) {
    ProgressQueue::get().advance();
    *flag = own->is_complete();
    if (!*flag) return not_yet();
    make_empty(status);
    return MPI_SUCCESS;
  }
  return look([=](const Native& mpi) { return mpi.Request_get_status(request, flag, status); });
}

// ---- what pending calls may use ----

ESPALIER_CALL(Type_free, (MPI_Datatype * type), (type)) {
  const Native* mpi = find_native();
  return mpi == nullptr ? MPI_ERR_INTERN : free(type, mpi->datatype_null, mpi->Type_free);
}

ESPALIER_CALL(Op_free, (MPI_Op * op), (op)) {
  const Native* mpi = find_native();
  return mpi == nullptr ? MPI_ERR_INTERN : free(op, mpi->op_null, mpi->Op_free);
}
