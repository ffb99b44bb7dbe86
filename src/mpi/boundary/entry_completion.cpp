// What completes requests, and what else waits: while nonblocking calls of ours are pending, all of it advances them.
// With none pending it is native's, for one look at a flag.

#include <memory>
#include <new>

#include "mpi/boundary/entry.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/patience.hpp"

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

int wait_for(MPI_Request* request, MPI_Status* status) noexcept {
  return wait([=](const Native& mpi) { return mpi.Wait(request, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Test(request, is_done, status); });
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

/// Ends the use of a handle that pending calls may still use: later, if there are any.
template <class Handle>
int free(Handle* handle, Handle null, int (*natively)(Handle*)) noexcept {
  if (!ProgressQueue::is_busy() || handle == nullptr || *handle == null) [[likely]]
    return natively(handle);
  ProgressQueue::get().when_idle([kept = *handle, natively]() mutable { natively(&kept); });
  *handle = null;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

// ---- requests ----

ESPALIER_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) { return wait_for(request, status); }

ESPALIER_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return wait([=](const Native& mpi) { return mpi.Waitall(count, requests, statuses); },
              [=](const Native& mpi, int* is_done) { return mpi.Testall(count, requests, is_done, statuses); });
}

ESPALIER_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return wait([=](const Native& mpi) { return mpi.Waitany(count, requests, index, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Testany(count, requests, index, is_done, status); });
}

ESPALIER_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  return wait([=](const Native& mpi) { return mpi.Waitsome(count, requests, done, indices, statuses); },
              [=](const Native& mpi, int* is_done) {
                const int code = mpi.Testsome(count, requests, done, indices, statuses);
                *is_done = *done != 0;  // MPI_UNDEFINED: there was none to wait for
                return code;
              });
}

ESPALIER_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return look([=](const Native& mpi) { return mpi.Test(request, flag, status); });
}

ESPALIER_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return look([=](const Native& mpi) { return mpi.Testall(count, requests, flag, statuses); });
}

ESPALIER_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return look([=](const Native& mpi) { return mpi.Testany(count, requests, index, flag, status); });
}

ESPALIER_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  return look([=](const Native& mpi) { return mpi.Testsome(count, requests, done, indices, statuses); });
}

ESPALIER_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return look([=](const Native& mpi) { return mpi.Request_get_status(request, flag, status); });
}

// ---- messages ----

ESPALIER_EXPORT int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return exchange(
      MPI_STATUS_IGNORE, [=](const Native& mpi) { return mpi.Send(buffer, count, type, to, tag, comm); },
      [=](const Native& mpi, MPI_Request* request) { return mpi.Isend(buffer, count, type, to, tag, comm, request); });
}

ESPALIER_EXPORT int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return exchange(
      MPI_STATUS_IGNORE, [=](const Native& mpi) { return mpi.Ssend(buffer, count, type, to, tag, comm); },
      [=](const Native& mpi, MPI_Request* request) { return mpi.Issend(buffer, count, type, to, tag, comm, request); });
}

ESPALIER_EXPORT int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                             MPI_Status* status) {
  return exchange(
      status, [=](const Native& mpi) { return mpi.Recv(buffer, count, type, from, tag, comm, status); },
      [=](const Native& mpi, MPI_Request* request) {
        return mpi.Irecv(buffer, count, type, from, tag, comm, request);
      });
}

ESPALIER_EXPORT int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int to, int send_tag,
                                 void* receive_buffer, int receive_count, MPI_Datatype receive_type, int from,
                                 int receive_tag, MPI_Comm comm, MPI_Status* status) {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (!ProgressQueue::is_busy()) [[likely]]
    return mpi->Sendrecv(send_buffer, send_count, send_type, to, send_tag, receive_buffer, receive_count, receive_type,
                         from, receive_tag, comm, status);
  return exchange({send_buffer, send_count, send_type, to, send_tag},
                  {receive_buffer, receive_count, receive_type, from, receive_tag}, comm, status);
}

ESPALIER_EXPORT int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
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

ESPALIER_EXPORT int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  return wait([=](const Native& mpi) { return mpi.Probe(from, tag, comm, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Iprobe(from, tag, comm, is_done, status); });
}

ESPALIER_EXPORT int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return wait([=](const Native& mpi) { return mpi.Mprobe(from, tag, comm, message, status); },
              [=](const Native& mpi, int* is_done) { return mpi.Improbe(from, tag, comm, is_done, message, status); });
}

ESPALIER_EXPORT int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return look([=](const Native& mpi) { return mpi.Iprobe(from, tag, comm, flag, status); });
}

ESPALIER_EXPORT int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  return look([=](const Native& mpi) { return mpi.Improbe(from, tag, comm, flag, message, status); });
}

// ---- what pending calls may use ----

ESPALIER_EXPORT int MPI_Type_free(MPI_Datatype* type) {
  const Native* mpi = find_native();
  return mpi == nullptr ? MPI_ERR_INTERN : free(type, mpi->datatype_null, mpi->Type_free);
}

ESPALIER_EXPORT int MPI_Op_free(MPI_Op* op) {
  const Native* mpi = find_native();
  return mpi == nullptr ? MPI_ERR_INTERN : free(op, mpi->op_null, mpi->Op_free);
}
