// What completes requests, in Fortran's bindings that do not pass through the C symbols (entry_fortran.cpp). Nothing is
// translated but handles: while calls of ours are pending, each waits until native's own function would not have to,
// and calls that, with generalized requests in the place of ours.

#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "mpi/boundary/entry_forms.hpp"
#include "mpi/boundary/fortran.hpp"
#include "mpi/boundary/while_pending.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/observe/started.hpp"

#if !defined(MPI_ABI)

namespace espalier::mpi {
namespace {

bool is_pending() { return find_native() != nullptr && ProgressQueue::is_busy(); }

#if defined(OPEN_MPI)
MPI_Request request_of(MPI_Fint handle) { return native().Request_f2c(handle); }
MPI_Fint handle_of(MPI_Request request) { return native().Request_c2f(request); }
MPI_Comm comm_of(const MPI_Fint& handle) { return native().Comm_f2c(handle); }
#else
MPI_Request request_of(MPI_Fint handle) { return static_cast<MPI_Request>(handle); }
MPI_Fint handle_of(MPI_Request request) { return static_cast<MPI_Fint>(request); }
MPI_Comm comm_of(const MPI_Fint& handle) { return static_cast<MPI_Comm>(handle); }
#endif

/// Handles of requests as native's function can take them, where any may be ours (Generalized).
class Handles {
 public:
  Handles(int count, MPI_Fint* callers) : callers_(callers) {
    if (!is_involved() || count <= 0) return;
    for (int i = 0; i < count; ++i) requests_.push_back(request_of(callers[i]));
    generalized_.emplace(count, requests_.data());
    for (int i = 0; i < count; ++i) handles_.push_back(handle_of(generalized_->requests()[i]));
  }
  MPI_Fint* all() { return generalized_ ? handles_.data() : callers_; }

  /// Waits until all are complete, or one is. Also of those that are null or inactive, or in error: then native says
  /// so.
  void settle(bool wants_all) {
    const auto is_complete = [](MPI_Request request) {
      int flag = 0;
      const int code = native().Request_get_status(request, &flag, MPI_STATUS_IGNORE);
      return flag || code != MPI_SUCCESS;
    };
    const MPI_Request* const begin = generalized_ ? generalized_->requests() : nullptr;
    const MPI_Request* const end = begin + requests_.size();
    if (generalized_ && is_pending())
      wait_while_busy(
          [&] { return wants_all ? std::all_of(begin, end, is_complete) : std::any_of(begin, end, is_complete); });
  }

  void hand_back() {
    if (!generalized_) return;
    for (std::size_t i = 0; i < handles_.size(); ++i) generalized_->requests()[i] = request_of(handles_[i]);
    generalized_->hand_back();
    for (std::size_t i = 0; i < handles_.size(); ++i)
      if (requests_[i] == native().request_null) callers_[i] = handle_of(requests_[i]);
  }

 private:
  static bool is_involved() { return find_native() != nullptr && (is_pending() || Requests::are_used()); }

  MPI_Fint* callers_;
  std::vector<MPI_Request> requests_;
  std::optional<Generalized> generalized_;
  std::vector<MPI_Fint> handles_;
};

/// `wants`: all, one, or to advance what is pending only.
enum class Wants { all, any, look };

void settle_message(int from, int tag, const MPI_Fint* comm) {
  if (!is_pending()) return;
  const MPI_Comm there = comm_of(*comm);
  int flag = 0;
  wait_while_busy([&] { return native().Iprobe(from, tag, there, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag; });
}

void advance_pending() {
  if (!is_pending()) return;
  ProgressQueue::get().advance();
  let_others_advance();
}

/// What somebody who observes calls wants to know the completion of; most programs' are none.
std::vector<MPI_Request> observed(int count, const MPI_Fint* callers) {
  std::vector<MPI_Request> requests;
  for (int i = 0; i < count && StartedCalls::are_any(); ++i) requests.push_back(request_of(callers[i]));
  return requests;
}

/// `is_done(place)`: of each request, after next(). Whose handle is gone is done whatever indices say: MPICH 4's
/// mpi_f08 counts them from 0.
template <class Next, class IsDone>
void complete(int count, MPI_Fint* callers, Wants wants, const Next& next, const IsDone& is_done) {
  const std::vector<MPI_Request> requests = observed(count, callers);
  const Completion seen(static_cast<int>(requests.size()), requests.data(), [&](int place) {
    return request_of(callers[place]) == native().request_null || is_done(place);
  });
  Handles handles(count, callers);
  if (wants == Wants::look)
    advance_pending();
  else
    handles.settle(wants == Wants::all);
  next(handles.all());
  handles.hand_back();
}

/// Frees a handle that our calls may still use: later, if there are any.
void free_handle(const char* name, MPI_Fint* handle, MPI_Fint null, MPI_Fint* error) {
  const bool is_used = is_pending() || Requests::has_persistent();
  if (!is_used || *handle == null) return call_next(name, handle, error);
  ProgressQueue::get().when_idle([name, kept = *handle]() mutable {
    MPI_Fint ignored = 0;
    call_next(name, &kept, &ignored);
  });
  *handle = null;
  if (error != nullptr) *error = MPI_SUCCESS;
}

}  // namespace
}  // namespace espalier::mpi

// A function of native's behind some work. `words`: its parameters' names. In Open MPI mpi_f08's own functions call
// ompi_wait_f, or, where a logical has to be translated, what is behind that.
#define ESPALIER_BEHIND_F08(name, parameters, words, ...)  \
  ESPALIER_EXPORT void mpi_##name##_f08_ parameters {      \
    using namespace espalier::mpi;                         \
    __VA_ARGS__;                                           \
    call_next("mpi_" #name "_f08_", ESPALIER_WORDS words); \
  }
#if defined(OPEN_MPI)
#define ESPALIER_BEHIND(name, UPPER, parameters, words, ...)               \
  ESPALIER_SPELLINGS(name, UPPER, parameters, words, __VA_ARGS__;          \
                     call_next("ompi_" #name "_f", ESPALIER_WORDS words);) \
  ESPALIER_BEHIND_F08(name, parameters, words, __VA_ARGS__)
#else
#define ESPALIER_BEHIND(name, UPPER, parameters, words, ...) ESPALIER_BEHIND_F08(name, parameters, words, __VA_ARGS__)
#endif

// What completes requests: the same, with handles that native can take under the name of those that it is given.
// `is_done`: whether that at `place` has been completed.
#define ESPALIER_COMPLETION(name, UPPER, parameters, words, count, callers, wants, is_done) \
  ESPALIER_COMPLETION_F08(name, parameters, words, count, callers, wants, is_done)          \
  ESPALIER_COMPLETION_F(name, UPPER, parameters, words, count, callers, wants, is_done)
#define ESPALIER_COMPLETION_F08(name, parameters, words, count, callers, wants, is_done)                          \
  ESPALIER_EXPORT void mpi_##name##_f08_ parameters {                                                             \
    using namespace espalier::mpi;                                                                                \
    complete(                                                                                                     \
        count, callers, wants, [&](MPI_Fint* callers) { call_next("mpi_" #name "_f08_", ESPALIER_WORDS words); }, \
        [&]([[maybe_unused]] int place) { return is_done; });                                                     \
  }
#if defined(OPEN_MPI)
#define ESPALIER_COMPLETION_F(name, UPPER, parameters, words, count, callers, wants, is_done)                     \
  ESPALIER_SPELLINGS(                                                                                             \
      name, UPPER, parameters, words,                                                                             \
      complete(                                                                                                   \
          count, callers, wants, [&](MPI_Fint* callers) { call_next("ompi_" #name "_f", ESPALIER_WORDS words); }, \
          [&]([[maybe_unused]] int place) { return is_done; });)
#else
#define ESPALIER_COMPLETION_F(name, UPPER, parameters, words, count, callers, wants, is_done)
#endif

// clang-format off
ESPALIER_COMPLETION(wait, WAIT, (MPI_Fint* request, void* status, MPI_Fint* error),
  (request, status, error), 1, request, Wants::all, true)
ESPALIER_COMPLETION(waitall, WAITALL, (MPI_Fint* count, MPI_Fint* requests, void* statuses, MPI_Fint* error),
  (count, requests, statuses, error), *count, requests, Wants::all, true)
ESPALIER_COMPLETION(waitany, WAITANY,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, void* status, MPI_Fint* error),
  (count, requests, index, status, error), *count, requests, Wants::any, place == *index - 1)
ESPALIER_COMPLETION(waitsome, WAITSOME,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices, void* statuses, MPI_Fint* error),
  (count, requests, done, indices, statuses, error), *count, requests, Wants::any, is_among(place + 1, *done, indices))
ESPALIER_COMPLETION(test, TEST, (MPI_Fint* request, MPI_Fint* flag, void* status, MPI_Fint* error),
  (request, flag, status, error), 1, request, Wants::look, *flag != 0)
ESPALIER_COMPLETION(testall, TESTALL,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, void* statuses, MPI_Fint* error),
  (count, requests, flag, statuses, error), *count, requests, Wants::look, *flag != 0)
ESPALIER_COMPLETION(testany, TESTANY,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, void* status, MPI_Fint* error),
  (count, requests, index, flag, status, error), *count, requests, Wants::look, *flag != 0 && place == *index - 1)
ESPALIER_COMPLETION(testsome, TESTSOME,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices, void* statuses, MPI_Fint* error),
  (count, requests, done, indices, statuses, error), *count, requests, Wants::look, is_among(place + 1, *done, indices))
ESPALIER_COMPLETION(request_get_status, REQUEST_GET_STATUS,
  (MPI_Fint* request, MPI_Fint* flag, void* status, MPI_Fint* error),
  (request, flag, status, error), 1, request, Wants::look, false)
ESPALIER_BEHIND(probe, PROBE, (MPI_Fint* from, MPI_Fint* tag, MPI_Fint* comm, void* status, MPI_Fint* error),
  (from, tag, comm, status, error), settle_message(*from, *tag, comm))
// clang-format on

// ---- starting and freeing ----

namespace espalier::mpi {
namespace {

void set(MPI_Fint* error, int code) {
  if (error != nullptr) *error = code;
}

/// MPI_Start of one or several; natives in their place.
void start(int count, MPI_Fint* handles, MPI_Fint* error) {
  int code = find_native() == nullptr ? MPI_ERR_INTERN : MPI_SUCCESS;
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
    MPI_Request request = request_of(handles[i]);
    code = start_requests(1, &request, native().Start);
    handles[i] = handle_of(request);
  }
  set(error, code);
}

void free_request(const char* name, MPI_Fint* handle, MPI_Fint* error) {
  MPI_Request request = find_native() == nullptr ? MPI_REQUEST_NULL : request_of(*handle);
  if (find_native() == nullptr || !free_own(&request)) return call_next(name, handle, error);
  *handle = handle_of(request);
  set(error, MPI_SUCCESS);
}

}  // namespace
}  // namespace espalier::mpi

ESPALIER_EXPORT void mpi_start_f08_(MPI_Fint* request, MPI_Fint* error) {
  if (!espalier::mpi::leave_alone("mpi_start_f08_", request, error)) espalier::mpi::start(1, request, error);
}
ESPALIER_EXPORT void mpi_startall_f08_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* error) {
  if (!espalier::mpi::leave_alone("mpi_startall_f08_", count, requests, error))
    espalier::mpi::start(*count, requests, error);
}
ESPALIER_EXPORT void mpi_request_free_f08_(MPI_Fint* request, MPI_Fint* error) {
  espalier::mpi::free_request("mpi_request_free_f08_", request, error);
}
#if defined(OPEN_MPI)
ESPALIER_SPELLINGS(start, START, (MPI_Fint * request, MPI_Fint* error), (request, error), start(1, request, error);)
ESPALIER_SPELLINGS(startall, STARTALL, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* error),
                   (count, requests, error), start(*count, requests, error);)
ESPALIER_SPELLINGS(request_free, REQUEST_FREE, (MPI_Fint * request, MPI_Fint* error), (request, error),
                   free_request("ompi_request_free_f", request, error);)
#endif

#if !defined(OPEN_MPI)

ESPALIER_EXPORT void mpi_type_free_f08_(MPI_Fint* type, MPI_Fint* error) {
  espalier::mpi::free_handle("mpi_type_free_f08_", type, MPI_DATATYPE_NULL, error);
}
ESPALIER_EXPORT void mpi_op_free_f08_(MPI_Fint* op, MPI_Fint* error) {
  espalier::mpi::free_handle("mpi_op_free_f08_", op, MPI_OP_NULL, error);
}

#else

// As mpif.h has it, MPI_DATATYPE_NULL and MPI_OP_NULL are 0.
ESPALIER_SPELLINGS(type_free, TYPE_FREE, (MPI_Fint * type, MPI_Fint* error), (type, error),
                   free_handle("ompi_type_free_f", type, 0, error);)
ESPALIER_SPELLINGS(op_free, OP_FREE, (MPI_Fint * op, MPI_Fint* error), (op, error),
                   free_handle("ompi_op_free_f", op, 0, error);)

// Of Open MPI's messages none passes through the C symbols.
// clang-format off
ESPALIER_BEHIND(recv, RECV,
  (void* buffer, MPI_Fint* count, MPI_Fint* type, MPI_Fint* from, MPI_Fint* tag, MPI_Fint* comm, void* status,
   MPI_Fint* error),
  (buffer, count, type, from, tag, comm, status, error), settle_message(*from, *tag, comm))
// clang-format on

#define MESSAGE void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *comm

/// ompi_isend_f or ompi_issend_f, and its completion; MPI's code.
namespace espalier::mpi {
namespace {
MPI_Fint send_while_pending(const char* start, MESSAGE) {
  MPI_Fint request = 0, error = MPI_SUCCESS;
  call_next(start, buffer, count, type, to, tag, comm, &request, &error);
  if (error != MPI_SUCCESS) return error;
  complete(
      1, &request, Wants::all, [](MPI_Fint*) {}, [](int) { return false; });
  MPI_Request started = native().Request_f2c(request);
  return native().Wait(&started, MPI_STATUS_IGNORE);
}
}  // namespace
}  // namespace espalier::mpi

ESPALIER_SPELLINGS(send, SEND, (MESSAGE, MPI_Fint* error), (buffer, count, type, to, tag, comm, error),
                   if (is_pending()) * error = send_while_pending("ompi_isend_f", buffer, count, type, to, tag, comm);
                   else call_next("ompi_send_f", buffer, count, type, to, tag, comm, error);)
ESPALIER_SPELLINGS(ssend, SSEND, (MESSAGE, MPI_Fint* error), (buffer, count, type, to, tag, comm, error),
                   if (is_pending()) * error = send_while_pending("ompi_issend_f", buffer, count, type, to, tag, comm);
                   else call_next("ompi_ssend_f", buffer, count, type, to, tag, comm, error);)

#endif
#endif
