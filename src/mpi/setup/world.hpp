#pragma once
// What the ranks of MPI_COMM_WORLD find out about each other once, when MPI_Init ends: then nobody uses MPI yet, and
// all of them are there. Communicators made of them later need one message round to be set up, and create no
// communicator.

#include <optional>
#include <vector>

#include "mpi/native/native.hpp"
#include "mpi/setup/agreement.hpp"
#include "mpi/setup/facts.hpp"

namespace espalier::mpi {

class Library;

class World {
 public:
  /// All ranks of MPI_COMM_WORLD call it, right after native's MPI_Init. A communicator is created, facts gathered, and
  /// what neighbours can do with each other's memory tried, after tables were handed on: five rounds of messages. When
  /// native fails, nobody has met, and each communicator asks for itself.
  void meet(Library& library);

  /// All ranks of the world have come through meet(), as all of them know.
  bool has_met() const { return has_met_; }

  /// Each member's number in MPI_COMM_WORLD; empty where one of them is from elsewhere. Local.
  std::optional<std::vector<int>> find_members(MPI_Comm comm, int size) const;
  /// The same of an intercommunicator's other side.
  std::optional<std::vector<int>> find_remote_members(MPI_Comm comm) const;

  const Facts& facts_of(int rank) const { return facts_[static_cast<std::size_t>(rank)]; }
  /// As is_oversubscribed() of all.
  bool has_too_few_cores() const { return has_too_few_cores_; }
  /// Each process has a second core, and not just a second hardware thread of its first.
  bool has_cores_to_spare() const { return has_cores_to_spare_; }
  /// What works between all neighbours.
  const SingleCopyMeans& single_copy() const { return means_; }
  /// A communicator of the world's ranks for messages of ours, told apart by tags.
  MPI_Comm messages() const { return messages_; }
  /// Largest tag there.
  int largest_tag() const { return largest_tag_; }

 private:
  void await_all(Library& library);
  void make_communicator();
  void gather_facts(Library& library);
  int find_host_leader() const;
  std::optional<std::vector<int>> translate(MPI_Group group) const;

  bool has_met_ = false;
  bool has_too_few_cores_ = false;
  bool has_cores_to_spare_ = false;
  int me_ = 0;
  int size_ = 0;
  MPI_Group group_{};
  MPI_Comm messages_{};
  int largest_tag_ = 0;
  std::vector<Facts> facts_;
  SingleCopyMeans means_;
};

}  // namespace espalier::mpi
