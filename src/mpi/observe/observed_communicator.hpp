#pragma once
// What observers keep of a communicator, as an attribute of it: who its ranks are, and which call is under way.

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpi/calls/call_of.hpp"
#include "mpi/native/native.hpp"
#include "mpi/observe/arrivals.hpp"
#include "mpi/observe/profile/profile.hpp"
#include "mpi/observe/profile/turns.hpp"
#include "transports/arena.hpp"

namespace espalier::mpi {

class Library;

/// A communicator's calls of one kind. The row is shared with other communicators of the same ranks.
struct Tally {
  ProfileRow* row = nullptr;  ///< null before the first
  bool may_pass = false;      ///< not all need be timed: then it is their turns that say which are
  Turns turns{};
  std::uint64_t bytes = 0, native = 0;  ///< of calls that were not timed, and that the row has not been told of
};

/// From when to when, by the clock that ranks of a host share.
struct Span {
  std::uint64_t begin, end;
};

class ObservedCommunicator {
 public:
  /// The communicator's; made when it is first asked for. Null: it is not observed, on all ranks alike (an
  /// intercommunicator, members from outside MPI_COMM_WORLD, one rank). Local.
  static ObservedCommunicator* find(MPI_Comm comm);
  /// The same if this thread's call before was on it, else null.
  static ObservedCommunicator* find_last(MPI_Comm comm) noexcept {
    const LastUsed last = last_used_;
    const bool is_same = last.comm == comm && last.generation == generation_.load(std::memory_order_acquire);
    return is_same ? last.communicator : nullptr;
  }
  /// Before a blocking call; the first time it is a collective operation, in which ranks of a host get memory that they
  /// share. Throws NativeFailure.
  void meet(MPI_Comm comm);
  ~ObservedCommunicator();
  ObservedCommunicator(const ObservedCommunicator&) = delete;
  ObservedCommunicator& operator=(const ObservedCommunicator&) = delete;

  /// Where it is, for those that may outlive it: null then.
  std::shared_ptr<ObservedCommunicator* const> self() const { return self_; }
  int me() const { return me_; }
  int ranks() const { return static_cast<int>(members_.size()); }
  const std::string& shape() const { return shape_; }
  /// As describe_members() has them.
  const std::string& members() const { return members_text_; }
  /// Numbers in MPI_COMM_WORLD.
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  /// Of its calls that are timed, from 1 on; equal on all ranks.
  std::uint64_t begin_call() { return ++calls_; }
  /// Equal on all ranks, and another for each communicator: so that of many with few calls each others are chosen.
  std::uint64_t salt() const { return salt_; }

  /// This rank comes to a call; nothing where the host's ranks share no memory.
  void come(std::uint64_t call, std::uint64_t now) const noexcept {
    if (arrivals_) arrivals_.come(call, now - origin_, place_);
  }
  /// Whether come() tells anybody anything, and whether all ranks are on this host, so that it tells all.
  bool sees_arrivals() const { return static_cast<bool>(arrivals_) && is_one_host_; }
  /// In such communicators: this rank waits in a call for longer than most do, and has waited for so long. The number
  /// is any that grows and is equal on all ranks.
  void begin_wait(std::uint64_t call, std::uint64_t now) const noexcept {
    if (sees_arrivals()) arrivals_.wait(call, now, place_);
  }
  LongWait end_wait(std::uint64_t call, const Span& span) const noexcept;
  /// Where a kind's calls are counted. It stays where it is.
  Tally& tally(const CallKind& kind);
  /// Whether not all of a kind's blocking calls need be timed: all ranks know its size, it is short, and there are
  /// cores for all, so that none takes much longer than the others. Equal on all ranks.
  bool may_pass(const CallKind& kind) const;

  /// A call like one before it, whose turn it is not: counts it, and gives where it was counted; else null.
  Tally* pass(plan::Operation operation, const Gist& gist) noexcept {
    const Alike& alike = alike_at(operation, gist);
    if (alike.tally == nullptr || !(alike.gist == gist) || !alike.tally->turns.may_pass()) return nullptr;
    alike.tally->turns.pass();
    alike.tally->bytes += alike.bytes;
    return alike.tally;
  }
  /// From now on calls like that are of this kind, whose calls may_pass(). Of a predefined type: others' handles come
  /// back for other types.
  void remember(plan::Operation operation, const Gist& gist, Bytes bytes, Tally& tally) noexcept {
    alike_at(operation, gist) = {gist, bytes, &tally};
  }
  /// Each kind's of every communicator there is, with calls that its row has not been told of. Nobody else makes calls.
  static void for_each_tally(const std::function<void(Tally&)>& each);
  struct Last {
    std::uint64_t time;
    int world_rank;
  };
  Last last(std::uint64_t call) const noexcept;

 private:
  ObservedCommunicator(std::vector<int> members, int me);
  static ObservedCommunicator* find_slowly(MPI_Comm comm);
  static std::unique_ptr<ObservedCommunicator> make(MPI_Comm comm);
  void share_arrivals(Library& library, MPI_Comm comm);
  void describe(Library& library);

  // Generation 0 never is: a zeroed entry matches nothing. A new one comes whenever a communicator goes.
  struct LastUsed {
    MPI_Comm comm;
    ObservedCommunicator* communicator;
    std::uint64_t generation;
  };
  ESPALIER_FAST_THREAD_LOCAL static thread_local constinit LastUsed last_used_;
  static std::atomic<std::uint64_t> generation_;

  /// Calls of one problem, as a rank tells them.
  struct Alike {
    Gist gist{};
    Bytes bytes = 0;
    Tally* tally = nullptr;
  };
  static constexpr std::size_t places = 4;  ///< of an operation's, by count
  Alike& alike_at(plan::Operation operation, const Gist& gist) noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(gist.count) * 0x9e37'79b9'7f4a'7c15;
    return alike_[static_cast<std::size_t>(operation) * places + (mixed >> 62)];
  }

  /// Of blocking calls whose sites are not asked for: by operation, with counts or without, and size.
  static constexpr std::size_t size_classes = 66;  ///< of 64 bits, none, and not known

  std::array<Alike, plan::operation_count * places> alike_{};
  std::vector<Tally*> tallies_ = std::vector<Tally*>(plan::block_sizes * plan::operation_count * size_classes);
  std::map<CallKind, Tally*> other_tallies_;
  std::deque<Tally> all_tallies_;  ///< which stay where they are
  std::shared_ptr<ObservedCommunicator*> self_ = std::make_shared<ObservedCommunicator*>(this);
  std::vector<int> members_;
  int me_;
  std::string shape_, members_text_;
  std::uint64_t salt_ = 0;
  std::uint64_t calls_ = 0;
  bool has_met_ = false;
  std::vector<int> hosts_ranks_;  ///< of this host, in the world
  int place_ = 0;                 ///< this rank's among them
  bool is_one_host_ = false;
  bool has_cores_ = false;  ///< for all of its ranks
  std::uint64_t origin_ = 0;
  std::shared_ptr<transports::Arena> arena_;
  Bytes offset_ = 0;
  Arrivals arrivals_;
};

}  // namespace espalier::mpi
