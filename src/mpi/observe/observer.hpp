#pragma once
// Looks at every collective of the program, where ESPALIER_CHECK, ESPALIER_PROFILE or ESPALIER_PROFILE_TRACE ask for
// that: at blocking ones before and after they are made, at others when they are started and completed.

#include <atomic>
#include <functional>
#include <optional>

#include "mpi/observe/call.hpp"
#include "mpi/observe/shares.hpp"
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
  static Permit begin(MPI_Comm, const MakeCall&, const void*) noexcept {
    return {};
  }
  static void end(MPI_Comm, bool) noexcept {}
#else
  /// Ranks of MPI_COMM_WORLD have met, and know each other's settings: from now on, if these ask for it.
  static void start(Library& library);
  /// At MPI_Finalize, which all ranks call: gathers and writes what was recorded.
  static void finish(Library& library) noexcept;

  /// A blocking call; the program goes on at `back`.
  template <class MakeCall>
  static Permit begin(MPI_Comm comm, const MakeCall& make_call, const void* back) noexcept {
    int me = 0, ranks = 0;
    if (!enter(comm, me, ranks)) return {};
    const auto call = make_call();
    if (checks_) {
      const Permit permit = check(comm, subject_of(call, me, ranks), [&] { return shares_of(call, me, ranks); });
      if (permit.code != MPI_SUCCESS) return permit;
    }
    return begin(subject_of(call, me, ranks), back);
  }
  /// The call is over; `is_own`: Espalier made it.
  static void end(MPI_Comm comm, bool is_own) noexcept;

  /// A call that starts another, or makes a persistent one. Nothing: it is not observed.
  template <class Call>
  static std::optional<ObservedCall> begin_start(MPI_Comm comm, const Call& call, plan::CallForm form,
                                                 const void* back) noexcept {
    ObservedCommunicator* const communicator = enter_start(comm);
    if (communicator == nullptr) return std::nullopt;
    return begin_start(*communicator, subject_of(call, communicator->me(), communicator->ranks()), form, back);
  }
  /// It has given that request.
  static void end_start(const std::optional<ObservedCall>& call, MPI_Comm comm, MPI_Request request) noexcept;
#endif

 private:
  static bool enter(MPI_Comm comm, int& me, int& ranks) noexcept;
  static Permit begin(const Subject& subject, const void* back) noexcept;
  static Permit check(MPI_Comm comm, const Subject& subject, const std::function<Shares()>& list_shares) noexcept;
  static ObservedCommunicator* enter_start(MPI_Comm comm) noexcept;
  static ObservedCall begin_start(ObservedCommunicator& communicator, const Subject& subject, plan::CallForm form,
                                  const void* back) noexcept;

  static inline std::atomic<bool> is_on_ = false;
  static inline bool checks_ = false;
};

}  // namespace espalier::mpi
