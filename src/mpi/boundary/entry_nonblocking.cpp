// The entry points of nonblocking collectives.

#include "mpi/boundary/entry_forms.hpp"

#include <memory>
#include <new>
#include <optional>
#include <type_traits>

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/kept_arrays.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/native/native_call.hpp"
#include "mpi/nonblocking/quick_start.hpp"
#include "mpi/nonblocking/started_call.hpp"

namespace espalier::mpi {
namespace {

constexpr const char* completed_elsewhere = "a nonblocking call, and another library stands in front of MPI_Wait";

/// Counts a call that native does since the communicator begins none of ours.
void count_native(Communicator& communicator, const plan::Call& kind) {
  if (communicator.engine() == nullptr)
    communicator.count_native(kind);
  else
    leave(kind.operation, completed_elsewhere);
}

template <class Call>
plan::Call started(const Call& call, std::uint64_t number) {
  plan::Call told = call_of(call);
  told.form = plan::CallForm::nonblocking;
  told.number = number;
  return told;
}

/// A call of one kind.
template <class Call>
class CallOf final : public StartedCall {
 public:
  CallOf(MPI_Comm comm, Communicator* ready, std::uint64_t number, const Call& call, const NativeCall& natively)
      : StartedCall(comm, ready, started(call, number)), call_(call), natively_(natively) {}

 private:
  std::optional<int> attempt(Communicator& communicator) override { return try_call(communicator, call_, this); }
  int pass_on(MPI_Request* request) override { return natively_(native(), request); }
  void count(Communicator& communicator) override { count_native(communicator, call_of(call_)); }

  Call call_;
  NativeCall natively_;
};

/// Gives the program a request for a call that is to be queued; null: one that is over. MPI's code.
int stand_for(std::unique_ptr<StartedCall> call, MPI_Comm comm, MPI_Request* request) {
  int code = MPI_SUCCESS;
  OwnRequest* const own = Requests::get().take(&code);
  if (own == nullptr) return report(comm, code);
  *request = own->handle();
  if (call == nullptr) {
    Requests::get().begin_over(*own);
    return MPI_SUCCESS;
  }
  StartedCall& started = *call;
  started.stand_behind(*own);
  Requests::get().begin(*own, std::move(call));
  ProgressQueue::get().add({comm}, started);
  return MPI_SUCCESS;
}

/// MPI's code. What native does from the start has native's own request.
int begin(std::unique_ptr<StartedCall> call, MPI_Comm comm, MPI_Request* request) {
  if (ProgressQueue::get().decide(comm, *call)) {
    if (call->is_natives()) return call->take_natives(request);
    if (call->has_failed()) return call->code();
  }
  return stand_for(std::move(call), comm, request);
}

/// Whether such a call may be of lines. Others exchange sizes first, or find out who their neighbours are.
template <class Call>
constexpr bool may_be_quick = (std::is_same_v<Call, Broadcast> || std::is_same_v<Call, Barrier> ||
                               std::is_same_v<Call, Allgather> || std::is_same_v<Call, Alltoall> ||
                               std::is_same_v<Call, Scatter> || std::is_same_v<Call, Gather> ||
                               std::is_same_v<Call, Reduction>);

/// MPI's code of a call that is over or queued, or natives'; nothing where it is to be begun in the other way.
template <class Call, class Make>
std::optional<int> start_quickly(Communicator& communicator, MPI_Comm comm, MPI_Request* request, const Call& call,
                                 const Make& make, const NativeCall& natively) {
  QuickStart start(make);
  const std::optional<int> code = try_call(communicator, call, &start);
  if (!code) return natively(native(), request);
  if (code != MPI_SUCCESS) return code;
  std::unique_ptr<StartedCall> queued = start.call();
  if (queued == nullptr && !start.is_over()) return std::nullopt;
  return stand_for(std::move(queued), comm, request);
}

/// `check`: what has to come before, if anything.
template <class Call>
int start(MPI_Comm comm, MPI_Request* request, std::unique_ptr<Preparation> check, const Call& call,
          const NativeCall& natively) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (request == nullptr) return natively(*mpi, request);
  try {
    const auto lock = ProgressQueue::get().lock();
    Communicator* const known = Communicator::find_existing(comm);
    const std::uint64_t number = known != nullptr ? known->count_start() : 1;
    const bool is_natives = known != nullptr && !known->awaits_set_up() && !known->may_start();
    Communicator* const ready = known != nullptr && known->is_ready() ? known : nullptr;
    const bool is_unset = ready == nullptr && !is_natives && check == nullptr;
    if (is_unset && is_refused_early(comm, call)) return natively(*mpi, request);
    const auto make = [&] { return std::make_unique<CallOf<Call>>(comm, ready, number, call, natively); };
    if constexpr (may_be_quick<Call>)
      if (ready != nullptr && !is_natives && check == nullptr && !ProgressQueue::is_busy())
        if (const auto code = start_quickly(*ready, comm, request, call, make, natively)) return *code;
    if (!is_natives || check != nullptr) {
      auto started = make();
      started->precede(std::move(check));
      return begin(std::move(started), comm, request);
    }
    count_native(*known, call_of(call));
  } catch (const std::bad_alloc&) {
    mpi->Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
  return natively(*mpi, request);
}

/// The code to return from an entry point, as enter() does for calls that block; the program goes on at `back`.
template <class Call>
int enter(MPI_Comm comm, MPI_Request* request, const void* back, const Call& call,
          const NativeCall& natively) noexcept {
  if (!Observer::is_on()) [[likely]]
    return start(comm, request, nullptr, call, natively);
  constexpr auto form = espalier::plan::CallForm::nonblocking;
  const auto observed = Observer::begin_start(comm, call, form, back);
  std::unique_ptr<Preparation> check;
  try {
    check = Observer::make_check(comm, call, form);
  } catch (const std::bad_alloc&) {
    return report(comm, MPI_ERR_NO_MEM);
  }
  const int code = start(comm, request, std::move(check), call, natively);
  if (code == MPI_SUCCESS && request != nullptr) Observer::end_start(observed, comm, *request);
  return code;
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;
using espalier::plan::Operation;

#define WITH_REQUEST(...) (__VA_ARGS__, request)

#define ESPALIER_ENTRY(function, keep, parameters, arguments, ...)           \
  [[gnu::noinline]] int espalier::mpi::begin_##function parameters {         \
    keep;                                                                    \
    const void* const back = __builtin_return_address(0);                    \
    const NativeCall natively([=](const Native& mpi, MPI_Request* request) { \
      static_cast<void>(kept);                                               \
      return mpi.function WITH_REQUEST arguments;                            \
    });                                                                      \
    return enter(comm, request, back, __VA_ARGS__, natively);                \
  }                                                                          \
  ESPALIER_CALL_BY(function, parameters, WITH_REQUEST arguments, begin_##function)
#define ESPALIER_SMALL_ENTRY(name, nonblocking, parameters, arguments, ...) \
  ESPALIER_ENTRY(nonblocking, KEEP_##parameters, parameters(int, int, MPI_Request* request), arguments, __VA_ARGS__)
#define ESPALIER_LARGE_ENTRY(name, nonblocking, parameters, arguments, ...)                                            \
  ESPALIER_ENTRY(nonblocking##_c, KEEP_##parameters, parameters(MPI_Count, MPI_Aint, MPI_Request* request), arguments, \
                 __VA_ARGS__)

ESPALIER_COLLECTIVES(ESPALIER_SMALL_ENTRY)
ESPALIER_BARRIER(ESPALIER_SMALL_ENTRY)
#if ESPALIER_HAS_LARGE_COUNTS
ESPALIER_COLLECTIVES(ESPALIER_LARGE_ENTRY)
#endif
