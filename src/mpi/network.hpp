#pragma once
// Messages between nodes through the MPI underneath, on a communicator of our own.

#include <vector>

#include "execute/seams.hpp"
#include "mpi/native.hpp"

namespace espalier::mpi {

/// Owns the private communicator, whose ranks are those of the communicator it serves.
class MpiNetwork : public execute::Network {
 public:
  explicit MpiNetwork(MPI_Comm comm) : comm_(comm) {}
  /// Frees the communicator, so all ranks destroy theirs together; not when MPI is about to end.
  ~MpiNetwork() override;
  MpiNetwork(const MpiNetwork&) = delete;
  MpiNetwork& operator=(const MpiNetwork&) = delete;

  void reserve(std::uint32_t slots) override;
  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override;
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override;
  Progress test(std::uint32_t slot) noexcept override;

 protected:
  /// Of a message, equal on both sides. One is enough: MPI keeps messages between two ranks in order, and nobody else
  /// sends here.
  virtual int tag_of(Bytes) const noexcept { return 0; }

  std::vector<MPI_Request> requests_;  ///< by slot

 private:
  MPI_Comm comm_;
};

}  // namespace espalier::mpi
