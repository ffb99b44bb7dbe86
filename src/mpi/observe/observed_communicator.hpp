#pragma once
// What observers keep of a communicator, as an attribute of it: who its ranks are, and which call is under way.

#include <memory>
#include <string>
#include <vector>

#include "mpi/boundary/native.hpp"
#include "mpi/observe/arrivals.hpp"
#include "mpi/observe/profile.hpp"
#include "transports/arena.hpp"

namespace espalier::mpi {

class Library;

class ObservedCommunicator {
 public:
  /// The communicator's; made at its first call that is observed, which is a collective operation. Null: it is not
  /// observed, on all ranks alike (an intercommunicator, members from outside MPI_COMM_WORLD, one rank).
  static ObservedCommunicator* find(MPI_Comm comm);
  ~ObservedCommunicator();
  ObservedCommunicator(const ObservedCommunicator&) = delete;
  ObservedCommunicator& operator=(const ObservedCommunicator&) = delete;

  int me() const { return me_; }
  int ranks() const { return static_cast<int>(members_.size()); }
  const std::string& shape() const { return shape_; }
  /// Numbers in MPI_COMM_WORLD.
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  /// Of its observed calls, from 1 on; equal on all ranks.
  std::uint64_t begin_call() { return ++calls_; }

  /// This rank comes to a call; nothing where the host's ranks share no memory.
  void come(std::uint64_t call, std::uint64_t now) const noexcept {
    if (arrivals_) arrivals_.come(call, now - origin_, place_);
  }
  /// Whether come() tells anybody anything, and whether all ranks are on this host, so that it tells all.
  bool sees_arrivals() const { return static_cast<bool>(arrivals_) && is_one_host_; }
  /// Where calls of a kind are summed up; null before the first. Of kinds: `plan::operation_count` operations, with
  /// counts or without, by size.
  ProfileRow*& row(plan::Operation operation, bool has_counts, int size_class) {
    const std::size_t form = 2 * static_cast<std::size_t>(operation) + (has_counts ? 1 : 0);
    return rows_[form * size_classes + static_cast<std::size_t>(size_class + 1)];
  }
  struct Last {
    std::uint64_t time;
    int world_rank;
  };
  Last last(std::uint64_t call) const noexcept;

 private:
  ObservedCommunicator(MPI_Comm comm, std::vector<int> members, int me);
  static std::unique_ptr<ObservedCommunicator> make(MPI_Comm comm);
  void share_arrivals(Library& library, MPI_Comm comm);
  void describe(Library& library);

  static constexpr std::size_t size_classes = 66;  ///< of 64 bits, none, and not known

  std::vector<ProfileRow*> rows_ = std::vector<ProfileRow*>(2 * plan::operation_count * size_classes);
  std::vector<int> members_;
  int me_;
  std::string shape_;
  std::uint64_t calls_ = 0;
  std::vector<int> hosts_ranks_;  ///< of this host, in the world
  int place_ = 0;                 ///< this rank's among them
  bool is_one_host_ = false;
  std::uint64_t origin_ = 0;
  std::shared_ptr<transports::Arena> arena_;
  Bytes offset_ = 0;
  Arrivals arrivals_;
};

}  // namespace espalier::mpi
