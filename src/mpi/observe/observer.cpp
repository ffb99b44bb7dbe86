#include "mpi/observe/observer.hpp"

#include <exception>
#include <memory>
#include <utility>

#include "mpi/calls/serve.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/observe/check/checking.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/profile/recording.hpp"
#include "mpi/observe/profile/sites.hpp"
#include "mpi/observe/started.hpp"
#include "mpi/process/communicator.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/shown/onlooker.hpp"

namespace espalier::mpi {
namespace {

/// Calls that are under way in a thread: a native one may call back into ours (attribute functions, other tools).
// Of the memory that each thread has of a library there is little: hence a pointer, made at a thread's first call.
thread_local std::unique_ptr<std::optional<ObservedCall>> under_way;

/// When this thread came to a call that sets its communicator up; 0: it does not, or is over.
thread_local constinit std::uint64_t came = 0;

/// What an engine shows of a communicator's calls. That may go before the engine does.
class Looker final : public Onlooker {
 public:
  Looker(MPI_Comm comm, std::shared_ptr<ObservedCommunicator* const> communicator)
      : comm_(comm), communicator_(std::move(communicator)) {}

  std::uint64_t look(const plan::Problem& problem, std::uint64_t call, std::uint64_t weight) noexcept override {
    return *communicator_ == nullptr ? never : Observer::look(comm_, **communicator_, problem, call, weight);
  }
  void leave(bool is_own) noexcept override { Observer::end_timed(comm_, is_own); }
  void count(const plan::Problem& problem, std::uint64_t calls) noexcept override {
    if (*communicator_ != nullptr) Observer::count(comm_, **communicator_, problem, calls);
  }
  void begin_wait(std::uint64_t call, std::uint64_t now) noexcept override {
    if (*communicator_ != nullptr) (*communicator_)->begin_wait(call, now);
  }
  void end_wait(const plan::Problem& problem, std::uint64_t call, std::uint64_t since,
                std::uint64_t now) noexcept override {
    if (*communicator_ != nullptr) Observer::note_wait(comm_, **communicator_, problem, call, {since, now});
  }

 private:
  static constexpr std::uint64_t never = std::uint64_t{1} << 62;

  MPI_Comm comm_;
  std::shared_ptr<ObservedCommunicator* const> communicator_;
};

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

/// Whether Espalier would make its calls: the first of a communicator, which are left to native anyhow and find nothing
/// in the caches, are no sample of the others. The same on all ranks, which count calls.
bool is_set_up(MPI_Comm comm) noexcept {
  const Communicator* const communicator = Communicator::find_existing(comm);
  return communicator != nullptr && !communicator->awaits_set_up();
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
  const bool suffice_some = Recording::get().may_pass() && !checks_;
  attention_.store(suffice_some ? Attention::some : Attention::each, std::memory_order_release);
}

void Observer::finish(Library& library) noexcept {
  if (attention_.exchange(Attention::none) == Attention::none || !Recording::get().is_on()) return;
  try {
    library.stop_showing();
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
                                                  const Subject& subject, Shares shares) {
  return std::make_unique<Check>(comm, communicator, subject, std::move(shares));
}

// Calls that do not block and came before may not have got to native yet; what follows asks native at once.
int Observer::await(MPI_Comm comm, const plan::Call& call, Preparation& check) noexcept {
  if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
  Communicator* const communicator = Communicator::find_existing(comm);
  Communicator::Mark mark;
  if (communicator != nullptr) mark = communicator->begin_comparison(call);
  const int code = wait_for([&] { return check.advance(true); });
  mark.end(code);
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
    return count(call) ? Permit{.tally = call.tally} : time(std::move(call), comm);
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
  tally.bytes += call.subject.call.bytes.value_or(0);
  if (Recording::has_gap()) recording.note_gap(recording.take_gap(read_clock()), *tally.row);
  return true;
}

void Observer::begin(ObservedCall& call) noexcept {
  const std::uint64_t now = read_clock(), before = std::exchange(came, 0);
  call.begin = before != 0 ? before : now;
  call.gap = Recording::get().take_gap(call.begin);
  call.communicator->come(call.number, call.begin);
}

Permit Observer::time(ObservedCall call, MPI_Comm comm) noexcept {
  Recording& recording = Recording::get();
  if (call.tally->may_pass) call.weight = call.tally->turns.take();
  call.number = call.communicator->begin_call();
  call.is_sample =
      recording.is_sampled(call.number + call.communicator->salt(), call.subject.call.operation) && is_set_up(comm);
  begin(call);
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
  came = 0;
  if (under_way == nullptr || !*under_way) return;
  const ObservedCall call = std::move(**under_way);
  under_way->reset();
  Attention some = Attention::some;
  attention_.compare_exchange_strong(some, Attention::next, std::memory_order_relaxed);
  try {
    Recording::get().note(call, comm, is_own);
  } catch (const std::exception&) {
    // no memory: the call is not counted
  }
}

// ---- what an engine shows ----

void Observer::note_coming() noexcept {
  if (is_on()) came = read_clock();
}

void Observer::follow(MPI_Comm comm, Engine& engine) noexcept {
  if (attention() != Attention::some && attention() != Attention::next) return;
  try {
    if (ObservedCommunicator* const communicator = find(comm))
      engine.show_to(std::make_shared<Looker>(comm, communicator->self()));
  } catch (const std::bad_alloc&) {
    // its calls are not observed
  }
}

// All of them, if that goes wrong: on other ranks it may not have.
std::uint64_t Observer::look(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                             std::uint64_t call, std::uint64_t weight) noexcept {
  try {
    communicator.meet(comm);
    if (under_way == nullptr) under_way = std::make_unique<std::optional<ObservedCall>>();
    ObservedCall& seen = under_way->emplace();
    seen.communicator = &communicator;
    seen.subject.call = plan::call_of(problem);
    seen.problem = problem;
    seen.number = call;
    seen.weight = weight;
    seen.tally = &Recording::get().tally_of(seen, comm);
    begin(seen);
    return seen.tally->may_pass ? seen.tally->turns.skip(weight) : 1;
  } catch (const NativeFailure&) {
    return 1;
  } catch (const std::exception&) {
    return 1;  // no memory for another row: the call is not counted
  }
}

void Observer::count(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                     std::uint64_t calls) noexcept {
  if (calls == 0) return;
  try {
    ObservedCall passed;
    passed.communicator = &communicator;
    passed.subject.call = plan::call_of(problem);
    Recording::get().note_passed(*Recording::get().tally_of(passed, comm).row, {calls, calls * problem.bytes, 0});
  } catch (const std::exception&) {
    // no memory for another row: they are not counted
  }
}

// Calls that were seen at the door are timed, all of them: what the engine shows has a problem.
void Observer::note_wait(MPI_Comm comm, ObservedCommunicator& communicator, const plan::Problem& problem,
                         std::uint64_t call, const Span& span) noexcept {
  ObservedCall* const timed = under_way != nullptr && *under_way ? &**under_way : nullptr;
  if (timed != nullptr && !timed->problem) return;
  try {
    ObservedCall other;
    other.communicator = &communicator;
    other.subject.call = plan::call_of(problem);
    const Tally& tally = timed != nullptr ? *timed->tally : Recording::get().tally_of(other, comm);
    if (!tally.may_pass) return;
    const LongWait wait = communicator.end_wait(call, span);
    Recording::get().note_wait(*tally.row, wait);
    if (timed == nullptr) return;
    timed->known_ns += wait.ns;
    timed->known_waiting_ns += wait.waiting_ns;
  } catch (const std::exception&) {
    // no memory for another row
  }
}

void Observer::note_gap_before(MPI_Comm comm, ObservedCommunicator& communicator, const Subject& subject) noexcept {
  try {
    ObservedCall next;
    next.communicator = &communicator;
    next.subject = subject;
    Recording& recording = Recording::get();
    ProfileRow& row = *recording.tally_of(next, comm).row;
    recording.note_gap(recording.take_gap(read_clock()), row);
  } catch (const std::exception&) {
    // no memory for another row
  }
}

// ---- others ----

ObservedCall Observer::begin_start(ObservedCommunicator& communicator, const Subject& subject,
                                   const void* back) noexcept {
  ObservedCall call;
  call.communicator = &communicator;
  call.subject = subject;
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
