// The entry points of persistent collectives, and what starts and frees requests.

#include "mpi/boundary/entry_forms.hpp"

#include <memory>
#include <new>

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/kept_arrays.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/native/native_call.hpp"
#include "mpi/nonblocking/persistent_call.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/started.hpp"

namespace espalier::mpi {
namespace {

int make_own(MPI_Comm comm, std::unique_ptr<PersistentCall> call, MPI_Request* request) {
  const auto lock = ProgressQueue::get().lock();
  int code = MPI_SUCCESS;
  OwnRequest* const own = Requests::get().take(&code);
  if (own == nullptr) return report(comm, code);
  *request = own->handle();
  Requests::get().keep(*own, std::move(call));
  return MPI_SUCCESS;
}

/// MPI's code, or nothing: native makes the request.
template <class Call, class Kept>
std::optional<int> make(MPI_Comm comm, MPI_Request* request, const Call& call, const Kept& kept) {
  plan::Call made = call_of(call);
  made.form = plan::CallForm::persistent;
  made.number = 1;  // each request counts its own starts
  std::unique_ptr<PersistentCall> persistent = PersistentCall::make(comm, made);
  if (persistent == nullptr) return std::nullopt;
  persistent->keep(std::make_shared<Kept>(kept));
  const std::optional<int> code = try_call(persistent->communicator(), call, persistent.get());
  if (code != MPI_SUCCESS) return code;
  return make_own(comm, std::move(persistent), request);
}

/// MPI's code. `natively` makes native's request.
template <class Call, class Kept>
int make(MPI_Comm comm, MPI_Request* request, const Call& call, const Kept& kept, const NativeCall& natively) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (request == nullptr || !is_intra(comm)) return natively(*mpi, request);
  try {
    const std::optional<int> code = make(comm, request, call, kept);
    return code ? *code : natively(*mpi, request);
  } catch (const std::exception&) {  // out of memory
    return report(comm, MPI_ERR_NO_MEM);
  }
}

/// The code to return from an entry point; the program goes on at `back`.
template <class Call, class Kept>
int enter(MPI_Comm comm, MPI_Request* request, const void* back, const Call& call, const Kept& kept,
          const NativeCall& natively) noexcept {
  if (!Observer::is_on()) [[likely]]
    return make(comm, request, call, kept, natively);
  constexpr auto form = espalier::plan::CallForm::persistent;
  if (const int code = Observer::check_now(comm, call, form); code != MPI_SUCCESS) return code;
  const auto observed = Observer::begin_start(comm, call, form, back);
  const int code = make(comm, request, call, kept, natively);
  if (code == MPI_SUCCESS && request != nullptr) Observer::end_start(observed, comm, *request);
  return code;
}

/// Of an MPI before version 4 there is none.
template <class Function, class... Arguments>
int call_native(Function* function, MPI_Comm comm, Arguments... arguments) {
  return function == nullptr ? report(comm, MPI_ERR_UNSUPPORTED_OPERATION) : function(arguments...);
}

/// MPI's code, or nothing: it is native's to start.
std::optional<int> start(MPI_Request* request) noexcept {
  if (!Requests::has_persistent() || request == nullptr) return std::nullopt;
  const auto lock = ProgressQueue::get().lock();
  OwnRequest* const own = Requests::get().find(*request);
  if (own == nullptr) return std::nullopt;
  if (own->persistent() == nullptr || own->is_active()) return report(native().comm_world, MPI_ERR_REQUEST);
  try {
    return own->persistent()->start(*own);
  } catch (const std::bad_alloc&) {
    own->complete(MPI_ERR_NO_MEM);
    own->leave();
    own->end();
    return report(native().comm_world, MPI_ERR_NO_MEM);
  }
}

}  // namespace

int start_requests(int count, MPI_Request* requests, int (*natively)(MPI_Request*)) noexcept {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t begin = StartedCalls::are_any() ? read_clock() : 0;
    const std::optional<int> own = start(&requests[i]);
    const int code = own ? *own : natively(&requests[i]);
    if (code != MPI_SUCCESS) return code;
    if (begin != 0) [[unlikely]]
      StartedCalls::get().start(requests[i], begin);
  }
  return MPI_SUCCESS;
}

bool free_own(MPI_Request* request) noexcept {
  if (!Requests::are_used() || request == nullptr) return false;
  std::unique_ptr<Pending> left;  // outlives the lock
  const auto lock = ProgressQueue::get().lock();
  OwnRequest* const own = Requests::get().find(*request);
  if (own == nullptr) return false;
  left = own->free();
  *request = native().request_null;
  ProgressQueue::get().look_whether_idle();
  return true;
}

namespace {

/// It is one of ours: collectives cannot be cancelled (MPI 4.0, section 6.12).
bool refuses_cancel(const MPI_Request* request) noexcept {
  if (!Requests::are_used() || request == nullptr) return false;
  const auto lock = ProgressQueue::get().lock();
  return Requests::get().find(*request) != nullptr;
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;
using espalier::plan::Operation;

#define ESPALIER_TAKE(...) __VA_ARGS__
// Native gets the caller's arrays, which it may keep for as long as it likes.
#define ESPALIER_ENTRY(function, keep, parameters, arguments, ...)                         \
  [[gnu::noinline]] int espalier::mpi::make_##function parameters {                        \
    const NativeCall natively([=](const Native& mpi, MPI_Request* request) {               \
      return call_native(mpi.function, comm, ESPALIER_TAKE arguments, info, request);      \
    });                                                                                    \
    keep;                                                                                  \
    return enter(comm, request, __builtin_return_address(0), __VA_ARGS__, kept, natively); \
  }                                                                                        \
  ESPALIER_CALL_BY(function, parameters, (ESPALIER_TAKE arguments, info, request), make_##function)
#define ESPALIER_SMALL_ENTRY(name, nonblocking, parameters, arguments, ...)                                            \
  ESPALIER_ENTRY(name##_init, KEEP_##parameters, parameters(int, int, MPI_Info info, MPI_Request* request), arguments, \
                 __VA_ARGS__)
#define ESPALIER_LARGE_ENTRY(name, nonblocking, parameters, arguments, ...) \
  ESPALIER_ENTRY(name##_init_c, KEEP_##parameters,                          \
                 parameters(MPI_Count, MPI_Aint, MPI_Info info, MPI_Request* request), arguments, __VA_ARGS__)

ESPALIER_COLLECTIVES(ESPALIER_SMALL_ENTRY)
ESPALIER_BARRIER(ESPALIER_SMALL_ENTRY)
#if ESPALIER_HAS_LARGE_COUNTS
ESPALIER_COLLECTIVES(ESPALIER_LARGE_ENTRY)
#endif

ESPALIER_CALL(Start, (MPI_Request * request), (request)) {
  const Native* mpi = find_native();
  return mpi == nullptr ? MPI_ERR_INTERN : start_requests(1, request, mpi->Start);
}

ESPALIER_CALL(Startall, (int count, MPI_Request requests[]), (count, requests)) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!Requests::has_persistent() && !StartedCalls::are_any()) return mpi->Startall(count, requests);
  return start_requests(count, requests, mpi->Start);
}

ESPALIER_CALL(Request_free, (MPI_Request * request), (request)) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (StartedCalls::are_any() && request != nullptr) StartedCalls::get().forget(*request);
  return free_own(request) ? MPI_SUCCESS : mpi->Request_free(request);
}

ESPALIER_CALL(Cancel, (MPI_Request * request), (request)) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  return refuses_cancel(request) ? report(mpi->comm_world, MPI_ERR_REQUEST) : mpi->Cancel(request);
}
