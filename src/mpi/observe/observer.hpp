#pragma once
// Looks at every blocking collective of the program before and after it is made, where ESPALIER_CHECK or
// ESPALIER_PROFILE ask for that.

#include <atomic>

#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

class Library;

/// Before a call is made. `code` is not MPI_SUCCESS: it must not be made, on no rank, and the error has been reported.
/// `is_sample`: native is to make it, on all ranks, to see what that takes.
struct Permit {
  int code = MPI_SUCCESS;
  bool is_sample = false;
};

class Observer {
 public:
  /// All that programs pay where nobody observes: one look at this before each call, and one after it.
  static bool is_on() noexcept { return is_on_.load(std::memory_order_relaxed); }

#if defined(ESPALIER_SIMULATED)
  template <class MakeCall>
  static Permit begin(MPI_Comm, const MakeCall&) noexcept {
    return {};
  }
  static void end(MPI_Comm, bool) noexcept {}
#else
  /// Ranks of MPI_COMM_WORLD have met, and know each other's settings: from now on, if these ask for it.
  static void start(Library& library);
  /// At MPI_Finalize, which all ranks call: gathers and writes the profile.
  static void finish(Library& library) noexcept;

  template <class MakeCall>
  static Permit begin(MPI_Comm comm, const MakeCall& make_call) noexcept {
    int me = 0, ranks = 0;
    if (!enter(comm, me, ranks)) return {};
    return begin(comm, subject_of(make_call(), me, ranks));
  }
  /// The call is over; `is_own`: Espalier made it.
  static void end(MPI_Comm comm, bool is_own) noexcept;
#endif

 private:
  static bool enter(MPI_Comm comm, int& me, int& ranks) noexcept;
  static Permit begin(MPI_Comm comm, const Subject& subject) noexcept;

  static inline std::atomic<bool> is_on_ = false;
};

}  // namespace espalier::mpi
