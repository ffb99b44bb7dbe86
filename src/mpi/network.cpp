#include "mpi/network.hpp"

#include "mpi/library.hpp"

namespace espalier::mpi {

MpiNetwork::~MpiNetwork() {
  if (!Library::get().is_ending()) native().Comm_free(&comm_);
}

void MpiNetwork::reserve(std::uint32_t slots) {
  if (requests_.size() < slots) requests_.resize(slots, native().request_null);
}

bool MpiNetwork::start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept {
  const Native& mpi = native();
  const int tag = tag_of(bytes);
  return mpi.Isend(data, static_cast<int>(bytes), mpi.byte, to.value, tag, comm_, &requests_[slot]) == MPI_SUCCESS;
}

bool MpiNetwork::start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept {
  const Native& mpi = native();
  const int tag = tag_of(bytes);
  return mpi.Irecv(data, static_cast<int>(bytes), mpi.byte, from.value, tag, comm_, &requests_[slot]) == MPI_SUCCESS;
}

execute::Network::Progress MpiNetwork::test(std::uint32_t slot) noexcept {
  int is_complete = 0;
  if (native().Test(&requests_[slot], &is_complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return Progress::broken;
  return is_complete ? Progress::complete : Progress::pending;
}

}  // namespace espalier::mpi
