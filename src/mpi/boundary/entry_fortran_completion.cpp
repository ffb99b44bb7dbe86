// What completes requests, in Fortran's bindings that do not pass through the C symbols (entry_fortran.cpp). Nothing is
// translated but handles: while calls are pending, each waits until native's own function would not have to, and calls
// that.

#include <dlfcn.h>

#include "mpi/boundary/fortran.hpp"
#include "mpi/nonblocking/patience.hpp"

#if !defined(MPI_ABI)

namespace espalier::mpi {
namespace {

/// The function that this library stands in front of. It is there: the program has called it.
template <class... Arguments>
void call_next(const char* name, Arguments... arguments) {
  using Function = void (*)(Arguments...);
  reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))(arguments...);
}

bool is_pending() { return find_native() != nullptr && ProgressQueue::is_busy(); }

#if defined(OPEN_MPI)
MPI_Request request_of(const MPI_Fint& handle) { return native().Request_f2c(handle); }
MPI_Comm comm_of(const MPI_Fint& handle) { return native().Comm_f2c(handle); }
#else
MPI_Request request_of(const MPI_Fint& handle) { return static_cast<MPI_Request>(handle); }
MPI_Comm comm_of(const MPI_Fint& handle) { return static_cast<MPI_Comm>(handle); }
#endif

/// Also of one that is null or inactive, or in error: then native says so.
bool is_complete(const MPI_Fint& handle) {
  int flag = 0;
  const int code = native().Request_get_status(request_of(handle), &flag, MPI_STATUS_IGNORE);
  return flag || code != MPI_SUCCESS;
}

int count_complete(int count, const MPI_Fint* handles) {
  int complete = 0;
  for (int i = 0; i < count; ++i) complete += is_complete(handles[i]);
  return complete;
}

/// An array of inactive requests is one that all of are complete.
void settle(int count, const MPI_Fint* handles, bool wants_all) {
  if (!is_pending()) return;
  wait_while_busy([=] { return count_complete(count, handles) >= (wants_all || count == 0 ? count : 1); });
}

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

/// Frees a handle that pending calls may still use: later, if there are any.
void free_handle(const char* name, MPI_Fint* handle, MPI_Fint null, MPI_Fint* error) {
  if (!is_pending() || *handle == null) return call_next(name, handle, error);
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
#define ESPALIER_BEHIND(name, UPPER, parameters, words, ...)                                                     \
  ESPALIER_SPELLINGS(name, UPPER, parameters, __VA_ARGS__; call_next("ompi_" #name "_f", ESPALIER_WORDS words);) \
  ESPALIER_BEHIND_F08(name, parameters, words, __VA_ARGS__)
#else
#define ESPALIER_BEHIND(name, UPPER, parameters, words, ...) ESPALIER_BEHIND_F08(name, parameters, words, __VA_ARGS__)
#endif
#define ESPALIER_WORDS(...) __VA_ARGS__

// clang-format off
ESPALIER_BEHIND(wait, WAIT, (MPI_Fint* request, void* status, MPI_Fint* error),
  (request, status, error), settle(1, request, true))
ESPALIER_BEHIND(waitall, WAITALL, (MPI_Fint* count, MPI_Fint* requests, void* statuses, MPI_Fint* error),
  (count, requests, statuses, error), settle(*count, requests, true))
ESPALIER_BEHIND(waitany, WAITANY, (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, void* status, MPI_Fint* error),
  (count, requests, index, status, error), settle(*count, requests, false))
ESPALIER_BEHIND(waitsome, WAITSOME,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices, void* statuses, MPI_Fint* error),
  (count, requests, done, indices, statuses, error), settle(*count, requests, false))
ESPALIER_BEHIND(test, TEST, (MPI_Fint* request, MPI_Fint* flag, void* status, MPI_Fint* error),
  (request, flag, status, error), advance_pending())
ESPALIER_BEHIND(testall, TESTALL,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, void* statuses, MPI_Fint* error),
  (count, requests, flag, statuses, error), advance_pending())
ESPALIER_BEHIND(testany, TESTANY,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, void* status, MPI_Fint* error),
  (count, requests, index, flag, status, error), advance_pending())
ESPALIER_BEHIND(testsome, TESTSOME,
  (MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices, void* statuses, MPI_Fint* error),
  (count, requests, done, indices, statuses, error), advance_pending())
ESPALIER_BEHIND(request_get_status, REQUEST_GET_STATUS,
  (MPI_Fint* request, MPI_Fint* flag, void* status, MPI_Fint* error),
  (request, flag, status, error), advance_pending())
ESPALIER_BEHIND(probe, PROBE, (MPI_Fint* from, MPI_Fint* tag, MPI_Fint* comm, void* status, MPI_Fint* error),
  (from, tag, comm, status, error), settle_message(*from, *tag, comm))
// clang-format on

#if !defined(OPEN_MPI)

ESPALIER_EXPORT void mpi_type_free_f08_(MPI_Fint* type, MPI_Fint* error) {
  espalier::mpi::free_handle("mpi_type_free_f08_", type, MPI_DATATYPE_NULL, error);
}
ESPALIER_EXPORT void mpi_op_free_f08_(MPI_Fint* op, MPI_Fint* error) {
  espalier::mpi::free_handle("mpi_op_free_f08_", op, MPI_OP_NULL, error);
}

#else

// As mpif.h has it, MPI_DATATYPE_NULL and MPI_OP_NULL are 0.
ESPALIER_SPELLINGS(type_free, TYPE_FREE, (MPI_Fint * type, MPI_Fint* error),
                   free_handle("ompi_type_free_f", type, 0, error);)
ESPALIER_SPELLINGS(op_free, OP_FREE, (MPI_Fint * op, MPI_Fint* error), free_handle("ompi_op_free_f", op, 0, error);)

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
  settle(1, &request, true);
  MPI_Request started = native().Request_f2c(request);
  return native().Wait(&started, MPI_STATUS_IGNORE);
}
}  // namespace
}  // namespace espalier::mpi

ESPALIER_SPELLINGS(send, SEND, (MESSAGE, MPI_Fint* error),
                   if (is_pending()) * error = send_while_pending("ompi_isend_f", buffer, count, type, to, tag, comm);
                   else call_next("ompi_send_f", buffer, count, type, to, tag, comm, error);)
ESPALIER_SPELLINGS(ssend, SSEND, (MESSAGE, MPI_Fint* error),
                   if (is_pending()) * error = send_while_pending("ompi_issend_f", buffer, count, type, to, tag, comm);
                   else call_next("ompi_ssend_f", buffer, count, type, to, tag, comm, error);)

#endif
#endif
