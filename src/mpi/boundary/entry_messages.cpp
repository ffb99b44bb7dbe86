// Blocking messages and probes: others may need this rank's progress while it waits for theirs.

#include <memory>
#include <new>

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/while_pending.hpp"
#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

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

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

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
