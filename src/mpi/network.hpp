#pragma once
// Messages between nodes through the MPI underneath.

#include <vector>

#include "execute/seams.hpp"
#include "mpi/native.hpp"
#include "mpi/tags.hpp"

namespace espalier::mpi {

/// Where a rank of a communicator is found on another one: its number there, and what messages to it carry.
struct Address {
  int rank;
  int tag;
};

/// Messages that MPI carries, wherever they go.
class MessageNetwork : public execute::Network {
 public:
  MessageNetwork(const MessageNetwork&) = delete;
  MessageNetwork& operator=(const MessageNetwork&) = delete;

  void reserve(std::uint32_t slots) override;
  Progress test(std::uint32_t slot) noexcept override;

 protected:
  explicit MessageNetwork(MPI_Comm comm) : comm_(comm) {}
  bool send(std::uint32_t slot, const Address& to, const std::byte* data, Bytes bytes) noexcept;
  bool receive(std::uint32_t slot, const Address& from, std::byte* data, Bytes bytes) noexcept;

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;  ///< by slot
};

/// On a private communicator, whose ranks are those of the communicator it serves.
class MpiNetwork : public MessageNetwork {
 public:
  explicit MpiNetwork(MPI_Comm comm) : MessageNetwork(comm) {}
  /// Frees the communicator, so all ranks destroy theirs together; not when MPI is about to end.
  ~MpiNetwork() override;

  /// Revokes the private communicator, so that others do not wait for messages of this rank either.
  void abandon() noexcept override;
  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    return send(slot, {to.value, tag_of(bytes)}, data, bytes);
  }
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    return receive(slot, {from.value, tag_of(bytes)}, data, bytes);
  }

 protected:
  /// Of a message, equal on both sides. One is enough: MPI keeps messages between two ranks in order, and nobody else
  /// sends here.
  virtual int tag_of(Bytes) const noexcept { return 0; }
};

/// On the world's communicator for all messages of ours (mpi/world.hpp). What goes to a rank carries that rank's tag.
class WorldNetwork final : public MessageNetwork {
 public:
  /// `addresses` by rank of the communicator served; `tags` gave out this rank's, and gets it back at the end.
  WorldNetwork(MPI_Comm comm, Tags& tags, std::vector<Address> addresses, int me)
      : MessageNetwork(comm), tags_(tags), addresses_(std::move(addresses)), tag_(addresses_[index(me)].tag) {}
  ~WorldNetwork() override;

  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    return note(send(slot, addresses_[index(to.value)], data, bytes));
  }
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    return note(receive(slot, {addresses_[index(from.value)].rank, tag_}, data, bytes));
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  bool note(bool is_fine) noexcept {
    is_broken_ = is_broken_ || !is_fine;
    return is_fine;
  }

  Tags& tags_;
  std::vector<Address> addresses_;
  int tag_;
  bool is_broken_ = false;
};

}  // namespace espalier::mpi
