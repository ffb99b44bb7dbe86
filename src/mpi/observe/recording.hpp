#pragma once
// ESPALIER_PROFILE and ESPALIER_PROFILE_TRACE: what is kept of calls while the program runs, and written when it ends.

#include <mutex>

#include "mpi/observe/call.hpp"
#include "mpi/observe/profile.hpp"
#include "mpi/observe/trace.hpp"

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
  /// Since this thread's collective before ended, or MPI_Init did.
  std::uint64_t gap_until(std::uint64_t now) const;

  /// A blocking call is over; `is_own`: Espalier made it. Throws std::bad_alloc, then it is not counted.
  void note(const ObservedCall& call, MPI_Comm comm, bool is_own);

  /// A call that does not block has been started; of a persistent one, its first start is yet to come.
  void note_start(const ObservedCall& call, ProfileRow& row, bool is_own);
  /// It is over. It was in MPI for so long since it started, at last since `begin`, and outside for `between`.
  void note_completion(const ObservedCall& call, ProfileRow& row, std::uint64_t begin, std::uint64_t in_mpi,
                       std::uint64_t between);
  /// Where calls of its kind are summed up. It stays where it is. Throws std::bad_alloc.
  ProfileRow& row_of(const ObservedCall& call, MPI_Comm comm);
  /// How Espalier does it, or that native does: of the first call of its row.
  void note_choice(ProfileRow& row, const ObservedCall& call, MPI_Comm comm, bool is_own);

  /// All ranks together: rank 0 writes. Throws NativeFailure and std::bad_alloc.
  void finish(Library& library);

 private:
  void write_profile(Library& library, int size, int me);
  void write_trace(Library& library, int size, int me);

  bool is_on_ = false;
  bool wants_profile_ = false;
  bool wants_sites_ = false;
  std::uint64_t sample_ = 0;  ///< every so many-th call of a kind is native's; 0: none
  std::uint64_t began_ = 0;
  std::mutex mutex_;  ///< of what follows
  Profile profile_;
  Trace trace_;
};

}  // namespace espalier::mpi
