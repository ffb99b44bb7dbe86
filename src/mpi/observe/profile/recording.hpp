#pragma once
// ESPALIER_PROFILE and ESPALIER_PROFILE_TRACE: what is kept of calls while the program runs, and written when it ends.

#include <atomic>
#include <mutex>

#include "mpi/observe/call.hpp"
#include "mpi/observe/profile/profile.hpp"
#include "mpi/observe/profile/trace.hpp"

namespace espalier {
struct Settings;
}

namespace espalier::mpi {

class Library;

/// Of this process.
class Recording {
 public:
  static Recording& get();

  /// Of a job of so many ranks.
  void start(const Settings& settings, int size);
  bool is_on() const { return is_on_; }
  bool wants_sites() const { return wants_sites_; }
  /// Whether native is to make a call, the same on all ranks: for no kind of call of a program's loop more likely than
  /// for another.
  bool is_sampled(std::uint64_t call, plan::Operation operation) const;
  /// Whether calls need not all be timed: nobody asks for what only that can tell.
  bool may_pass() const { return wants_profile_ && !trace_.is_on() && !wants_sites_ && sample_ == 0; }
  /// Whether it is known how long the program has been at its own work: this thread's collective before was timed.
  static bool has_gap() noexcept { return before_.weight != 0; }
  /// How long, until now. Afterwards it is not known.
  Gap take_gap(std::uint64_t now) const noexcept;

  /// A call of a kind that is not timed, after one that was. Throws std::bad_alloc.
  void note_gap(const Gap& gap, ProfileRow& row);
  /// Calls that were not timed: the row is told of those that it does not know of.
  void note_passed(Tally& tally) noexcept;
  void note_passed(ProfileRow& row, const PassedCalls& passed) noexcept;
  /// A long wait in one of its calls, timed or not.
  void note_wait(ProfileRow& row, const LongWait& wait) noexcept;
  /// A blocking call is over; `is_own`: Espalier made it. Throws std::bad_alloc, then it is not counted.
  void note(const ObservedCall& call, MPI_Comm comm, bool is_own);

  /// A call that does not block has been started; of a persistent one, its first start is yet to come.
  void note_start(const ObservedCall& call, ProfileRow& row, bool is_own);
  /// It is over. It was in MPI for so long since it started, at last since `begin`, and outside for `between`.
  void note_completion(const ObservedCall& call, ProfileRow& row, std::uint64_t begin, std::uint64_t in_mpi,
                       std::uint64_t between);
  /// Where calls of its kind are counted, and where they are summed up: these stay where they are. Throw
  /// std::bad_alloc.
  Tally& tally_of(const ObservedCall& call, MPI_Comm comm);
  ProfileRow& row_of(const ObservedCall& call, MPI_Comm comm);
  /// How Espalier does it, or that native does: of some calls of its row.
  void note_choice(ProfileRow& row, const ObservedCall& call, MPI_Comm comm, bool is_own);

  /// All ranks together: rank 0 writes. Throws NativeFailure and std::bad_alloc.
  void finish(Library& library);

 private:
  /// This thread's last collective, if it was timed.
  struct Before {
    std::uint64_t end;  ///< 0: there is none yet
    std::uint64_t weight;
  };
  ESPALIER_FAST_THREAD_LOCAL static thread_local constinit Before before_;
  /// Threads that make calls are numbered as they come, from 0.
  int number_thread() noexcept;
  TraceEvent event_of(const ObservedCall& call, std::uint64_t begin, std::uint64_t end) noexcept;

  void write_profile(Library& library, int size, int me);
  void write_trace(Library& library, int size, int me);

  bool is_on_ = false;
  bool wants_profile_ = false;
  bool wants_sites_ = false;
  std::uint64_t sample_ = 0;  ///< every so many-th call of a kind is native's; 0: none
  std::uint64_t began_ = 0;
  std::atomic<int> threads_ = 0;
  std::mutex mutex_;  ///< of what follows
  Profile profile_;
  Trace trace_;
};

}  // namespace espalier::mpi
