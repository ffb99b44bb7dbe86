#include "mpi/network.hpp"

#include "mpi/health.hpp"
#include "mpi/library.hpp"

namespace espalier::mpi {

void MessageNetwork::reserve(std::uint32_t slots) {
  if (requests_.size() < slots) requests_.resize(slots, native().request_null);
}

bool MessageNetwork::send(std::uint32_t slot, const Address& to, const std::byte* data, Bytes bytes) noexcept {
  const Native& mpi = native();
  return mpi.Isend(data, static_cast<int>(bytes), mpi.byte, to.rank, to.tag, comm_, &requests_[slot]) == MPI_SUCCESS;
}

bool MessageNetwork::receive(std::uint32_t slot, const Address& from, std::byte* data, Bytes bytes) noexcept {
  const Native& mpi = native();
  return mpi.Irecv(data, static_cast<int>(bytes), mpi.byte, from.rank, from.tag, comm_, &requests_[slot]) ==
         MPI_SUCCESS;
}

execute::Network::Progress MessageNetwork::test(std::uint32_t slot) noexcept {
  int is_complete = 0;
  if (native().Test(&requests_[slot], &is_complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return Progress::broken;
  return is_complete ? Progress::complete : Progress::pending;
}

MpiNetwork::~MpiNetwork() {
  if (!Library::get().is_ending()) native().Comm_free(&comm_);
}

// Where a run broke off, messages may be under way for ever: its tag is nobody's any more.
WorldNetwork::~WorldNetwork() {
  for (const MPI_Request request : requests_) is_broken_ = is_broken_ || request != native().request_null;
  if (!is_broken_) tags_.give_back(tag_);
}

// Receives can be cancelled, but not sends: a peer that came late would take them out of memory that is the caller's
// again.
void MpiNetwork::abandon() noexcept {
  if (!outlives_failures()) return;
  revoke(comm_);
  for (MPI_Request& request : requests_)
    if (request != native().request_null) native().Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace espalier::mpi
