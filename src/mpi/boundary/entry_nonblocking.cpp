// The entry points of nonblocking collectives.

#include "mpi/boundary/entry_nonblocking.hpp"

#include <memory>
#include <new>
#include <vector>

#include "mpi/boundary/entry.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/started_call.hpp"

namespace espalier::mpi {
namespace {

constexpr const char* completed_elsewhere = "a nonblocking call, and another library stands in front of MPI_Wait";

/// Counts a call that native does since the communicator begins none of ours.
void count_native(Communicator& communicator, const Form& form) {
  if (communicator.engine() == nullptr)
    communicator.count_native(form);
  else
    leave(form.operation, completed_elsewhere);
}

/// A call of one kind. `Natively(mpi, request)` begins it on the native library.
template <class Call, class Natively>
class CallOf final : public StartedCall {
 public:
  CallOf(MPI_Comm comm, Communicator* ready, const Call& call, const Natively& natively)
      : StartedCall(comm, ready), call_(call), natively_(natively) {}

 private:
  std::optional<int> attempt(Communicator& communicator) override { return try_call(communicator, call_, this); }
  int pass_on(MPI_Request* request) override { return natively_(native(), request); }
  void count(Communicator& communicator) override { count_native(communicator, form_of(call_)); }

  Call call_;
  Natively natively_;
};

/// Whether it has one group, and all about it is known: calls on others are native's from the start.
bool is_intra(MPI_Comm comm) noexcept {
  const Native* mpi = find_native();
  int is_inter = 0;
  return mpi != nullptr && comm != mpi->comm_null && mpi->Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && !is_inter;
}

bool is_rank(MPI_Comm comm, int root) noexcept {
  int rank = 0;
  return is_intra(comm) && native().Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

/// Copies of arrays with a number for each rank. MPI wants the caller's to stay until the call is over; mpi4py's, where
/// it narrows large counts, do not, and no library minds.
class Arrays {
 public:
  /// The pointers are to the copies from now on, but for those that are null.
  template <class... Numbers>
  static Arrays keep(MPI_Comm comm, const Numbers*&... arrays) noexcept {
    Arrays kept;
    int size = 0;
    if (!is_intra(comm) || native().Comm_size(comm, &size) != MPI_SUCCESS) return kept;
    try {
      (kept.copy(arrays, static_cast<std::size_t>(size)), ...);
    } catch (const std::bad_alloc&) {
      // then they are the caller's
    }
    return kept;
  }

 private:
  template <class Number>
  void copy(const Number*& array, std::size_t size) {
    if (array == nullptr) return;
    const auto copied = std::make_shared<std::vector<Number>>(array, array + size);
    copies_.push_back(copied);
    array = copied->data();
  }
  std::vector<std::shared_ptr<const void>> copies_;
};

/// MPI's code. What native does from the start has native's own request.
int begin(std::unique_ptr<StartedCall> call, MPI_Comm comm, MPI_Request* request) {
  ProgressQueue& queue = ProgressQueue::get();
  if (queue.decide(comm, *call)) {
    if (call->is_natives()) return call->take_natives(request);
    if (call->has_failed()) return call->code();
  }
  if (const int code = call->make_request(request); code != MPI_SUCCESS) return code;
  queue.add(comm, std::move(call));
  return MPI_SUCCESS;
}

/// The code to return from an entry point, as enter() does for calls that block.
template <class Call, class Natively>
int enter(MPI_Comm comm, MPI_Request* request, const Call& call, const Natively& natively) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (request == nullptr) return natively(*mpi, request);
  try {
    const auto lock = ProgressQueue::get().lock();
    Communicator* const known = Communicator::find_existing(comm);
    const bool is_natives = known != nullptr && !known->awaits_set_up() && !known->may_start();
    Communicator* const ready = known != nullptr && known->is_ready() ? known : nullptr;
    if (!is_natives) return begin(std::make_unique<CallOf<Call, Natively>>(comm, ready, call, natively), comm, request);
    count_native(*known, form_of(call));
  } catch (const std::bad_alloc&) {
    mpi->Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
  return natively(*mpi, request);
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;
using espalier::plan::Operation;

#define WITH_REQUEST(...) (__VA_ARGS__, request)

// ---- arrays of counts that outlive the call, by what the entry point takes; kept by whoever has `kept` ----

#define KEEP_BCAST const Arrays kept
#define KEEP_BARRIER const Arrays kept
#define KEEP_EXCHANGE const Arrays kept
#define KEEP_ROOTED const Arrays kept
#define KEEP_REDUCE const Arrays kept
#define KEEP_REDUCE_TO_ALL const Arrays kept
#define KEEP_REDUCE_SCATTER const Arrays kept = Arrays::keep(comm, counts)
#define KEEP_ALLGATHERV const Arrays kept = Arrays::keep(comm, receive_counts, receive_displacements)
#define KEEP_SCATTERV \
  const Arrays kept = is_rank(comm, root) ? Arrays::keep(comm, send_counts, send_displacements) : Arrays()
#define KEEP_GATHERV \
  const Arrays kept = is_rank(comm, root) ? Arrays::keep(comm, receive_counts, receive_displacements) : Arrays()
#define KEEP_ALLTOALLV                                                                \
  const Arrays kept = send_buffer == MPI_IN_PLACE                                     \
                          ? Arrays::keep(comm, receive_counts, receive_displacements) \
                          : Arrays::keep(comm, receive_counts, receive_displacements, send_counts, send_displacements)

#define ESPALIER_ENTRY(function, keep, parameters, arguments, ...)                          \
  int espalier::mpi::begin_##function parameters {                                          \
    keep;                                                                                   \
    return enter(comm, request, __VA_ARGS__, [=](const Native& mpi, MPI_Request* request) { \
      static_cast<void>(kept);                                                              \
      return mpi.function WITH_REQUEST arguments;                                           \
    });                                                                                     \
  }                                                                                         \
  ESPALIER_EXPORT int MPI_##function parameters { return begin_##function WITH_REQUEST arguments; }
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
