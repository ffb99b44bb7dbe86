#pragma once
// What observers keep of a communicator, as an attribute of it: who its ranks are, and which call is under way.

#include <map>
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
  /// The communicator's; made when it is first asked for. Null: it is not observed, on all ranks alike (an
  /// intercommunicator, members from outside MPI_COMM_WORLD, one rank). Local.
  static ObservedCommunicator* find(MPI_Comm comm);
  /// Before a blocking call; the first time it is a collective operation, in which ranks of a host get memory that they
  /// share. Throws NativeFailure.
  void meet(MPI_Comm comm);
  ~ObservedCommunicator();
  ObservedCommunicator(const ObservedCommunicator&) = delete;
  ObservedCommunicator& operator=(const ObservedCommunicator&) = delete;

  int me() const { return me_; }
  int ranks() const { return static_cast<int>(members_.size()); }
  const std::string& shape() const { return shape_; }
  /// As describe_members() has them.
  const std::string& members() const { return members_text_; }
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
  /// Kinds of calls that are summed up apart.
  struct CallKind {
    plan::Operation operation;
    bool has_counts;
    int size_class;
    plan::CallForm form;
    const void* site;

    auto operator<=>(const CallKind&) const = default;
  };
  /// Where a kind's are; null before the first.
  ProfileRow*& row(const CallKind& kind);
  struct Last {
    std::uint64_t time;
    int world_rank;
  };
  Last last(std::uint64_t call) const noexcept;

 private:
  ObservedCommunicator(std::vector<int> members, int me);
  static std::unique_ptr<ObservedCommunicator> make(MPI_Comm comm);
  void share_arrivals(Library& library, MPI_Comm comm);
  void describe(Library& library);

  /// Of blocking calls whose sites are not asked for: by operation, with counts or without, and size.
  static constexpr std::size_t size_classes = 66;  ///< of 64 bits, none, and not known

  std::vector<ProfileRow*> rows_ = std::vector<ProfileRow*>(2 * plan::operation_count * size_classes);
  std::map<CallKind, ProfileRow*> other_rows_;
  std::vector<int> members_;
  int me_;
  std::string shape_, members_text_;
  std::uint64_t calls_ = 0;
  bool has_met_ = false;
  std::vector<int> hosts_ranks_;  ///< of this host, in the world
  int place_ = 0;                 ///< this rank's among them
  bool is_one_host_ = false;
  std::uint64_t origin_ = 0;
  std::shared_ptr<transports::Arena> arena_;
  Bytes offset_ = 0;
  Arrivals arrivals_;
};

}  // namespace espalier::mpi
