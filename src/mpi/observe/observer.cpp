#include "mpi/observe/observer.hpp"

#include <exception>
#include <memory>
#include <utility>

#include "mpi/boundary/quiet.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/observe/checking.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/recording.hpp"
#include "mpi/observe/sites.hpp"
#include "mpi/observe/started.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

/// Calls that are under way in a thread: a native one may call back into ours (attribute functions, other tools).
// Of the memory that each thread has of a library there is little: hence a pointer, made at a thread's first call.
thread_local std::unique_ptr<std::optional<ObservedCall>> under_way;

bool have_equal_settings(const Library& library, int size) {
  for (int r = 1; r < size; ++r)
    if (library.world().facts_of(r).settings != library.world().facts_of(0).settings) return false;
  return true;
}

/// Whether all ranks' requests of our own come to us again when they are waited for.
bool see_completion(const Library& library, int size) {
  for (int r = 0; r < size; ++r)
    if (library.world().facts_of(r).sees_completion == 0) return false;
  return true;
}

const void* site_of(const void* back) noexcept { return Recording::get().wants_sites() ? find_site(back) : nullptr; }

bool is_ours(MPI_Request request) {
  const auto lock = ProgressQueue::get().lock();
  return Requests::get().find(request) != nullptr;
}

}  // namespace

void Observer::start(Library& library) {
  const Settings& settings = library.settings();
  if (!settings.check && settings.profile.empty() && settings.profile_trace.empty()) return;
  int size = 0, me = 0;
  native().Comm_size(native().comm_world, &size);
  native().Comm_rank(native().comm_world, &me);
  if (size == 1) return;
  if (!library.world().has_met() || !have_equal_settings(library, size)) {
    library.say_once("ESPALIER_CHECK and ESPALIER_PROFILE have no effect: they need the same settings on all ranks");
    return;
  }
  checks_ = settings.check;
  checks_started_ = checks_ && see_completion(library, size);
  if (checks_ && !checks_started_ && me == 0)
    library.say_once("ESPALIER_CHECK leaves out calls that do not block: another library stands in front of MPI_Wait");
  Recording::get().start(settings, size);
  is_on_.store(true, std::memory_order_release);
}

void Observer::finish(Library& library) noexcept {
  if (!is_on_.exchange(false) || !Recording::get().is_on()) return;
  try {
    Recording::get().finish(library);
  } catch (const NativeFailure&) {
    library.say_once("ESPALIER_PROFILE: the ranks' parts could not be gathered, so there is no profile");
  } catch (const std::exception&) {
    library.say_once("ESPALIER_PROFILE: no memory for the profile");
  }
}

bool Observer::is_recorded() noexcept { return Recording::get().is_on(); }

/// Null: it is not observed.
ObservedCommunicator* Observer::find(MPI_Comm comm) noexcept {
  if (comm == native().comm_null || !Library::get().is_running()) return nullptr;
  try {
    return ObservedCommunicator::find(comm);
  } catch (const NativeFailure&) {
    return nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

// ---- calls are compared ----

std::unique_ptr<Preparation> Observer::make_check(MPI_Comm comm, const ObservedCommunicator& communicator,
                                                  const Subject& subject, plan::CallForm form, Shares shares) {
  return std::make_unique<Check>(comm, communicator, subject, form, std::move(shares));
}

// Calls that do not block and came before may not have got to native yet; what follows asks native at once.
int Observer::await(MPI_Comm comm, Preparation& check) noexcept {
  if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
  return wait_for([&] { return check.advance(true); });
}

int Observer::fail_for_memory(MPI_Comm comm) noexcept { return report(comm, MPI_ERR_NO_MEM); }

// ---- blocking calls ----

ObservedCommunicator* Observer::enter(MPI_Comm comm) noexcept {
  if (under_way != nullptr) under_way->reset();
  return find(comm);
}

Permit Observer::begin(MPI_Comm comm, ObservedCommunicator& communicator, const Subject& subject,
                       const void* back) noexcept {
  try {
    if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
    communicator.meet(comm);
    if (under_way == nullptr) under_way = std::make_unique<std::optional<ObservedCall>>();
  } catch (const NativeFailure&) {
    return {};
  } catch (const std::exception&) {
    return {};
  }
  ObservedCall& call = under_way->emplace();
  call.communicator = &communicator;
  call.subject = subject;
  call.number = communicator.begin_call();
  const Recording& recording = Recording::get();
  call.site = site_of(back);
  call.is_sample = recording.is_sampled(call.number, subject.operation);
  call.begin = read_clock();
  call.gap = recording.gap_until(call.begin);
  if (recording.is_on()) communicator.come(call.number, call.begin);
  return {MPI_SUCCESS, call.is_sample};
}

void Observer::end(MPI_Comm comm, bool is_own) noexcept {
  if (under_way == nullptr || !*under_way) return;
  const ObservedCall call = **under_way;
  under_way->reset();
  if (!Recording::get().is_on()) return;
  try {
    Recording::get().note(call, comm, is_own);
  } catch (const std::exception&) {
    // no memory for another row: the call is not counted
  }
}

// ---- others ----

ObservedCall Observer::begin_start(ObservedCommunicator& communicator, const Subject& subject, plan::CallForm form,
                                   const void* back) noexcept {
  ObservedCall call;
  call.communicator = &communicator;
  call.subject = subject;
  call.form = form;
  call.site = site_of(back);
  call.begin = read_clock();
  call.gap = Recording::get().gap_until(call.begin);
  return call;
}

void Observer::end_start(const std::optional<ObservedCall>& call, MPI_Comm comm, MPI_Request request) noexcept {
  if (!call) return;
  try {
    Recording& recording = Recording::get();
    const bool is_own = is_ours(request);
    ProfileRow& row = recording.row_of(*call, comm);
    StartedCalls::get().keep(request, *call, row, is_own);
    recording.note_choice(row, *call, comm, is_own);
  } catch (const std::exception&) {
    // no memory for another row: the call is not counted
  }
}

}  // namespace espalier::mpi
