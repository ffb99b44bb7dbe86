#pragma once
// Looks at every collective of the program, where ESPALIER_CHECK, ESPALIER_PROFILE or ESPALIER_PROFILE_TRACE ask for
// that: at all before they are made, and at blocking ones afterwards, at others when they are completed. Where a
// profile alone is asked for, Espalier's own engines show it some of their calls, and those that they do not show cost
// nothing.

#include <atomic>
#include <memory>
#include <optional>

#include "mpi/calls/call_of.hpp"
#include "mpi/calls/start.hpp"
#include "mpi/observe/call.hpp"
#include "mpi/observe/check/shares.hpp"
#include "mpi/observe/profile/recording.hpp"
#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

class Engine;
class Library;

/// Which calls have to be looked at before they are made.
enum class Attention : std::uint8_t {
  none,
  some,  ///< but for those that an engine may show: they are looked at as it shows them, or when native gets them
  next,  ///< the same, and what comes next ends what the program did since a call that was timed
  each,
};

/// Before a call is made. `code` is not MPI_SUCCESS: it must not be made, on no rank, and the error has been reported.
/// `is_sample`: native is to make it, on all ranks, to see what that takes. `tally`: where it was counted, if it is not
/// looked at any more; `is_timed`: Observer::end() comes when it is over. Else it is not observed.
struct Permit {
  int code = MPI_SUCCESS;
  bool is_sample = false;
  bool is_timed = false;
  Tally* tally = nullptr;
};

class Observer {
 public:
  /// All that programs pay where nobody observes: one look at this before each call, and one after it.
  static Attention attention() noexcept { return attention_.load(std::memory_order_relaxed); }
  static bool is_on() noexcept { return attention() != Attention::none; }

#if defined(ESPALIER_SIMULATED)
  template <class MakeCall>
  static Permit begin(MPI_Comm, const MakeCall&, const void*) noexcept {
    return {};
  }
  static void end(MPI_Comm, const Permit&, bool) noexcept {}
  template <class Call>
  static void note_gap_before(MPI_Comm, const Call&) noexcept {}
  static void note_coming() noexcept {}
  static void follow(MPI_Comm, Engine&) noexcept {}
#else
  /// Ranks of MPI_COMM_WORLD have met, and know each other's settings: from now on, if these ask for it.
  static void start(Library& library);
  /// At MPI_Finalize, which all ranks call: gathers and writes what was recorded.
  static void finish(Library& library) noexcept;

  /// A blocking call; the program goes on at `back`.
  template <class MakeCall>
  static Permit begin(MPI_Comm comm, const MakeCall& make_call, const void* back) noexcept {
    if (Tally* const tally = pass(comm, make_call)) return {.tally = tally};
    return begin_slowly(comm, make_call(), back);
  }
  /// The call is over, without an error; `is_own`: Espalier made it.
  static void end(MPI_Comm comm, const Permit& permit, bool is_own) noexcept {
    if (permit.is_timed)
      end_timed(comm, is_own);
    else if (permit.tally != nullptr && !is_own)
      ++permit.tally->native;
  }

  /// A call that an engine may show; it is seen how long the program was at its own work before, and no more than that.
  template <class Call>
  [[gnu::noinline]] static void note_gap_before(MPI_Comm comm, const Call& call) noexcept {
    attention_.store(Attention::some, std::memory_order_relaxed);
    ObservedCommunicator* const communicator = Recording::has_gap() ? find(comm) : nullptr;
    if (communicator == nullptr) return;
    note_gap_before(comm, *communicator, subject_of(call, communicator->me(), communicator->ranks()));
  }

  /// This thread's call sets its communicator up before anybody sees it.
  static void note_coming() noexcept;
  /// A communicator has this engine now.
  static void follow(MPI_Comm comm, Engine& engine) noexcept;
  /// A call that an engine shows, as Onlooker has it. end_timed() comes when it is over.
  static std::uint64_t look(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                            std::uint64_t call, std::uint64_t weight) noexcept;
  static void end_timed(MPI_Comm comm, bool is_own) noexcept;
  /// A long wait in a call of an engine is over.
  static void note_wait(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                        std::uint64_t call, const Span& span) noexcept;
  /// Calls of an engine that it has not shown.
  static void count(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                    std::uint64_t calls) noexcept;

  /// What has to come before a call that does not block; null: nothing. Throws std::bad_alloc.
  template <class Call>
  static std::unique_ptr<Preparation> make_check(MPI_Comm comm, const Call& call, plan::CallForm form) {
    const ObservedCommunicator* const communicator = checks(form) ? find(comm) : nullptr;
    if (communicator == nullptr) return nullptr;
    const int me = communicator->me(), ranks = communicator->ranks();
    return make_check(comm, *communicator, subject_of(call, me, ranks, form), shares_of(call, me, ranks));
  }
  /// The same now, by a call that may wait. MPI's code: unless that is MPI_SUCCESS, the call must not be made, on no
  /// rank, and the error has been reported.
  template <class Call>
  static int check_now(MPI_Comm comm, const Call& call, plan::CallForm form) noexcept {
    if (!checks(form)) return MPI_SUCCESS;
    try {
      const std::unique_ptr<Preparation> check = make_check(comm, call, form);
      return check == nullptr ? MPI_SUCCESS : await(comm, call_of(call, -1), *check);
    } catch (const std::bad_alloc&) {
      return fail_for_memory(comm);
    }
  }

  /// A call that starts another, or makes a persistent one. Nothing: it is not observed.
  template <class Call>
  static std::optional<ObservedCall> begin_start(MPI_Comm comm, const Call& call, plan::CallForm form,
                                                 const void* back) noexcept {
    ObservedCommunicator* const communicator = is_recorded() ? find(comm) : nullptr;
    if (communicator == nullptr) return std::nullopt;
    return begin_start(*communicator, subject_of(call, communicator->me(), communicator->ranks(), form), back);
  }
  /// It has given that request.
  static void end_start(const std::optional<ObservedCall>& call, MPI_Comm comm, MPI_Request request) noexcept;
#endif

 private:
  /// What most calls of many short ones cost: a look whether the call is like one before it, and an addition.
  template <class MakeCall>
  static Tally* pass(MPI_Comm comm, const MakeCall& make_call) noexcept {
    ObservedCommunicator* const communicator = ObservedCommunicator::find_last(comm);
    if (communicator == nullptr || Recording::has_gap()) return nullptr;
    const auto call = make_call();
    if (call_of(call).has_counts()) return nullptr;
    const std::optional<Gist> gist = gist_of(call, communicator->me());
    return gist ? communicator->pass(call_of(call).operation, *gist) : nullptr;
  }
  template <class Call>
  [[gnu::noinline]] static Permit begin_slowly(MPI_Comm comm, const Call& call, const void* back) noexcept {
    ObservedCommunicator* const communicator = enter(comm);
    if (communicator == nullptr) return {};
    const int code = check_now(comm, call, plan::CallForm::blocking);
    if (code != MPI_SUCCESS) return {code};
    const int me = communicator->me();
    const Permit permit = begin(comm, *communicator, subject_of(call, me, communicator->ranks()), back);
    if (permit.tally != nullptr && !call_of(call).has_counts())
      remember(*communicator, call_of(call).operation, gist_of(call, me), *permit.tally);
    return permit;
  }
  static void remember(ObservedCommunicator& communicator, plan::Operation operation, const std::optional<Gist>& gist,
                       Tally& tally) noexcept;
  static void note_gap_before(MPI_Comm comm, ObservedCommunicator& communicator, const Subject& subject) noexcept;
  static bool is_recorded() noexcept;
  static ObservedCommunicator* find(MPI_Comm comm) noexcept;
  static ObservedCommunicator* enter(MPI_Comm comm) noexcept;
  static Permit begin(MPI_Comm comm, ObservedCommunicator& communicator, const Subject& subject,
                      const void* back) noexcept;
  static bool checks(plan::CallForm form) noexcept {
    return form == plan::CallForm::nonblocking ? checks_started_ : checks_;
  }
  static std::unique_ptr<Preparation> make_check(MPI_Comm comm, const ObservedCommunicator& communicator,
                                                 const Subject& subject, Shares shares);
  static bool count(const ObservedCall& call);
  static void begin(ObservedCall& call) noexcept;
  static Permit time(ObservedCall call, MPI_Comm comm) noexcept;
  static int await(MPI_Comm comm, const plan::Call& call, Preparation& check) noexcept;
  static int fail_for_memory(MPI_Comm comm) noexcept;
  static ObservedCall begin_start(ObservedCommunicator& communicator, const Subject& subject,
                                  const void* back) noexcept;

  static inline std::atomic<Attention> attention_ = Attention::none;
  static inline bool checks_ = false, checks_started_ = false;
};

}  // namespace espalier::mpi
