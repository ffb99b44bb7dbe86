// What completes requests, and what else waits: while calls of ours are pending, all of it advances them, and requests
// of ours are completed here. Without any it is native's, for a look at two flags.

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "mpi/boundary/entry.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/observe/started.hpp"

namespace espalier::mpi {
namespace {

/// `native(mpi)` waits; `test(mpi, flag)` looks. Codes are MPI's.
template <class Natively, class Test>
[[gnu::always_inline]] inline int wait(const Natively& natively, const Test& test) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return natively(*mpi);
  int code = MPI_SUCCESS, is_done = 0;
  const auto look = [&] {
    code = test(*mpi, &is_done);
    return is_done || code != MPI_SUCCESS;
  };
  return wait_while_busy(look) ? code : natively(*mpi);
}

/// A call that does not wait.
template <class Natively>
[[gnu::always_inline]] inline int look(const Natively& natively) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return natively(*mpi);
  ProgressQueue::get().advance();
  const int code = natively(*mpi);
  let_others_advance();
  return code;
}

/// Of native's.
int wait_for(MPI_Request* request, MPI_Status* status) noexcept {
  return wait([=](const Native& mpi) { return mpi.Wait(request, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Test(request, is_done, status); });
}

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

/// The program completes one that is complete; one that is not active is as if it were null. MPI's code.
int end(OwnRequest& own, MPI_Request* request) noexcept {
  const auto lock = ProgressQueue::get().lock();
  if (!own.is_active()) return MPI_SUCCESS;
  const int code = own.code();
  if (own.persistent() == nullptr) *request = native().request_null;
  own.end();
  return code;
}

/// After a look at one that is not complete: whoever it waits for goes on. MPI's code.
int not_yet() noexcept {
  poke_native();
  let_others_advance();
  return MPI_SUCCESS;
}

int wait_for(OwnRequest& own, MPI_Request* request, MPI_Status* status) noexcept {
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

/// A blocking message: `natively(mpi)` is all of it, `start(mpi, request)` begins it.
template <class Natively, class Start>
[[gnu::always_inline]] inline int exchange(MPI_Status* status, const Natively& natively, const Start& start) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return natively(*mpi);
  MPI_Request request;
  if (const int code = start(*mpi, &request); code != MPI_SUCCESS) return code;
  return wait_for(&request, status);
}

/// One end of an exchange.
template <class Data>
struct End {
  Data* buffer;
  int count;
  MPI_Datatype type;
  int peer, tag;
};

/// Both at once, while calls are pending.
int exchange(const End<const void>& out, const End<void>& in, MPI_Comm comm, MPI_Status* status) noexcept {
  MPI_Request requests[2];
  int code = native().Irecv(in.buffer, in.count, in.type, in.peer, in.tag, comm, &requests[0]);
  if (code != MPI_SUCCESS) return code;
  code = native().Isend(out.buffer, out.count, out.type, out.peer, out.tag, comm, &requests[1]);
  if (code != MPI_SUCCESS) {
    native().Cancel(&requests[0]);
    native().Wait(&requests[0], MPI_STATUS_IGNORE);
    return code;
  }
  const int sent = wait_for(&requests[1], MPI_STATUS_IGNORE), received = wait_for(&requests[0], status);
  return sent != MPI_SUCCESS ? sent : received;
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

/// Of those that are done; none where there was none to wait for (MPI_UNDEFINED).
bool is_among(int place, int done, const int* indices) {
  return done > 0 && std::find(indices, indices + done, place) != indices + done;
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
  if (OwnRequest* const own = find_own(request)) return wait_for(*own, request, status);
  return wait_for(request, status);
}

ESPALIER_CALL(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status)) {
  const Completion seen(1, request, [=](int) { return *flag != 0; });
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

// ---- messages ----

ESPALIER_CALL(Send, (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
              (buffer, count, type, to, tag, comm)) {
  return exchange(
      MPI_STATUS_IGNORE, [=](const Native& mpi) { return mpi.Send(buffer, count, type, to, tag, comm); },
      [=](const Native& mpi, MPI_Request* request) { return mpi.Isend(buffer, count, type, to, tag, comm, request); });
}

ESPALIER_CALL(Ssend, (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
              (buffer, count, type, to, tag, comm)) {
  return exchange(
      MPI_STATUS_IGNORE, [=](const Native& mpi) { return mpi.Ssend(buffer, count, type, to, tag, comm); },
      [=](const Native& mpi, MPI_Request* request) { return mpi.Issend(buffer, count, type, to, tag, comm, request); });
}

ESPALIER_CALL(Recv, (void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
              (buffer, count, type, from, tag, comm, status)) {
  return exchange(
      status, [=](const Native& mpi) { return mpi.Recv(buffer, count, type, from, tag, comm, status); },
      [=](const Native& mpi, MPI_Request* request) {
        return mpi.Irecv(buffer, count, type, from, tag, comm, request);
      });
}

ESPALIER_CALL(Sendrecv,
              (const void* send_buffer, int send_count, MPI_Datatype send_type, int to, int send_tag,
               void* receive_buffer, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
               MPI_Comm comm, MPI_Status* status),
              (send_buffer, send_count, send_type, to, send_tag, receive_buffer, receive_count, receive_type, from,
               receive_tag, comm, status)) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return mpi->Sendrecv(send_buffer, send_count, send_type, to, send_tag, receive_buffer, receive_count, receive_type,
                         from, receive_tag, comm, status);
  return exchange({send_buffer, send_count, send_type, to, send_tag},
                  {receive_buffer, receive_count, receive_type, from, receive_tag}, comm, status);
}

ESPALIER_CALL(Sendrecv_replace,
              (void* buffer, int count, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
               MPI_Comm comm, MPI_Status* status),
              (buffer, count, type, to, send_tag, from, receive_tag, comm, status)) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return mpi->Sendrecv_replace(buffer, count, type, to, send_tag, from, receive_tag, comm, status);
  int room = 0, packed = 0;
  int code = mpi->Pack_size(count, type, comm, &room);
  if (code != MPI_SUCCESS) return code;
  const std::unique_ptr<std::byte[]> sent(new (std::nothrow) std::byte[static_cast<std::size_t>(room)]);
  if (sent == nullptr) return report(comm, MPI_ERR_NO_MEM);
  code = mpi->Pack(buffer, count, type, sent.get(), room, &packed, comm);
  if (code != MPI_SUCCESS) return code;
  return exchange({sent.get(), packed, mpi->packed, to, send_tag}, {buffer, count, type, from, receive_tag}, comm,
                  status);
}

ESPALIER_CALL(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), (from, tag, comm, status)) {
  return wait([=](const Native& mpi) { return mpi.Probe(from, tag, comm, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Iprobe(from, tag, comm, is_done, status); });
}

ESPALIER_CALL(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
              (from, tag, comm, message, status)) {
  return wait([=](const Native& mpi) { return mpi.Mprobe(from, tag, comm, message, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Improbe(from, tag, comm, is_done, message, status); });
}

ESPALIER_CALL(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
              (from, tag, comm, flag, status)) {
  return look([=](const Native& mpi) { return mpi.Iprobe(from, tag, comm, flag, status); });
}

ESPALIER_CALL(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status),
              (from, tag, comm, flag, message, status)) {
  return look([=](const Native& mpi) { return mpi.Improbe(from, tag, comm, flag, message, status); });
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
