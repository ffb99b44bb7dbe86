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
#include "mpi/process/communicator.hpp"
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
  library.foresee_writing("ESPALIER_PROFILE", settings.profile);
  library.foresee_writing("ESPALIER_PROFILE_TRACE", settings.profile_trace);
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
int Observer::await(MPI_Comm comm, plan::Operation operation, Preparation& check) noexcept {
  if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
  Communicator* const communicator = Communicator::find_existing(comm);
  Communicator::Mark mark;
  if (communicator != nullptr) mark = communicator->begin_comparison(operation);
  const int code = wait_for([&] { return check.advance(true); });
  if (communicator != nullptr && mark.is_good_after(code)) communicator->end_left(mark, MPI_SUCCESS);
  return code;
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
    if (!is_recorded()) return {};
    if (under_way == nullptr) under_way = std::make_unique<std::optional<ObservedCall>>();
    ObservedCall call;
    call.communicator = &communicator;
    call.subject = subject;
    call.site = site_of(back);
    call.tally = &Recording::get().tally_of(call, comm);
    return count(call) ? Permit{.tally = call.tally} : time(std::move(call));
  } catch (const NativeFailure&) {
    return {};
  } catch (const std::exception&) {
    return {};  // no memory for another row: the call is not counted
  }
}

/// Whether that is all there is to it.
bool Observer::count(const ObservedCall& call) {
  Recording& recording = Recording::get();
  Tally& tally = *call.tally;
  if (!tally.may_pass || !tally.turns.may_pass()) return false;
  tally.turns.pass();
  tally.bytes += static_cast<std::uint64_t>(call.subject.bytes);
  if (Recording::has_gap()) recording.note_gap(recording.take_gap(read_clock()), *tally.row);
  return true;
}

Permit Observer::time(ObservedCall call) noexcept {
  Recording& recording = Recording::get();
  if (call.tally->may_pass) call.weight = call.tally->turns.take();
  call.number = call.communicator->begin_call();
  call.is_sample = recording.is_sampled(call.number, call.subject.operation);
  call.begin = read_clock();
  call.gap = recording.take_gap(call.begin);
  call.communicator->come(call.number, call.begin);
  const bool is_sample = call.is_sample;
  under_way->emplace(std::move(call));
  return {.is_sample = is_sample, .is_timed = true};
}

void Observer::remember(ObservedCommunicator& communicator, plan::Operation operation, const std::optional<Gist>& gist,
                        Tally& tally) noexcept {
  if (!tally.may_pass || !gist || gist->count < 0) return;
  const Layout type = describe(gist->type);
  if (type.is_named) communicator.remember(operation, *gist, static_cast<Bytes>(gist->count * type.size), tally);
}

void Observer::end_timed(MPI_Comm comm, bool is_own) noexcept {
  if (under_way == nullptr || !*under_way) return;
  const ObservedCall call = **under_way;
  under_way->reset();
  try {
    Recording::get().note(call, comm, is_own);
  } catch (const std::exception&) {
    // no memory: the call is not counted
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
  call.gap = Recording::get().take_gap(call.begin);
  return call;
}

void Observer::end_start(const std::optional<ObservedCall>& call, MPI_Comm comm, MPI_Request request) noexcept {
  if (!call) return;
  try {
    Recording& recording = Recording::get();
    const bool is_own = is_ours(request);
    ProfileRow& row = *recording.tally_of(*call, comm).row;
    StartedCalls::get().keep(request, *call, row, is_own);
    recording.note_choice(row, *call, comm, is_own);
  } catch (const std::exception&) {
    // no memory for another row: the call is not counted
  }
}

}  // namespace espalier::mpi
