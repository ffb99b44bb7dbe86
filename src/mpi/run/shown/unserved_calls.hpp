#pragma once
// What this process shows others of calls on communicators that have no desks (execute/unserved_page.hpp).

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "execute/unserved_page.hpp"
#include "transports/arena.hpp"

namespace espalier::mpi {

/// Who a communicator's ranks are, as far as that can be told without asking anybody. Communicators of the same ranks
/// are one group here: nothing that all of them know by themselves tells them apart.
struct Group {
  std::uint32_t community = 0;  ///< UnservedCall::community
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::vector<execute::RankSpan> members = {};  ///< none: not known, or too irregular to be told
};

/// Thread safe.
class UnservedCalls {
 public:
  /// Of the process, once its desk among those of MPI_COMM_WORLD is there: before, nothing is shown. Persistent calls
  /// have desks of their own there, which come later and count for nothing here.
  struct Owner {
    std::shared_ptr<transports::Arena> arena;
    std::uint32_t job = 0;  ///< WatchLine::community of MPI_COMM_WORLD
    std::int32_t pid = 0;
    std::int32_t world_rank = 0;
  };
  void open(Owner owner);
  /// The group that these ranks of the world are, in the order of the communicator; `rank` is this process's there.
  Group make_group(std::span<const int> members, std::int32_t rank) const;

  /// This rank is in that call until it ends. Null: nobody can be shown.
  execute::UnservedCall* begin(const Group& group, execute::LeftToMpi::Doing doing, const plan::Call& call) noexcept;
  void end(execute::UnservedCall& call) noexcept;
  /// The same of one that was refused on this rank alone: then it was none.
  void take_back(execute::UnservedCall& call) noexcept;

 private:
  execute::UnservedCall* show(const Group& group, execute::LeftToMpi::Doing doing, const plan::Call& call);
  execute::UnservedPage* find_page();
  execute::UnservedCall* find_place(execute::UnservedPage& page, const Group& group);

  mutable std::mutex mutex_;
  Owner owner_;
  bool has_asked_ = false;
  execute::UnservedPage* page_ = nullptr;
  int next_ = 0;                                  ///< where a place is looked for first
  std::map<std::uint32_t, std::uint32_t> calls_;  ///< so far, by group
};

}  // namespace espalier::mpi
