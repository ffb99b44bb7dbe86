#include "mpi/process/communicator.hpp"

#include <utility>

#include "mpi/calls/forbidden.hpp"
#include "mpi/native/attributes.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/observe/observer.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/setup.hpp"

namespace espalier::mpi {
namespace {

// Calls that a new communicator leaves to native: one that is used only now and then never pays for its set-up. That
// of the world is sure to be used.
int calls_before_set_up(MPI_Comm comm) {
  return comm == native().comm_world ? 0 : Library::get().settings().setup_calls;
}

/// Whom others are told of that look at calls of a communicator that has no line; null: they are not, as where there is
/// nobody to wait for, or members are from elsewhere. Of an intercommunicator, both sides.
std::unique_ptr<const Group> find_group(MPI_Comm comm) {
  const Native& mpi = native();
  const World& world = Library::get().world();
  int rank = 0, size = 0, is_inter = 0;
  try {
    check(mpi.Comm_test_inter(comm, &is_inter));
    check(mpi.Comm_rank(comm, &rank));
    check(mpi.Comm_size(comm, &size));
    if (!world.has_met() || (size == 1 && !is_inter)) return nullptr;
    auto members = world.find_members(comm, size);
    auto others = is_inter ? world.find_remote_members(comm) : std::vector<int>();
    if (!members || !others) return nullptr;
    if (is_inter && others->front() < members->front()) {
      rank += static_cast<int>(others->size());
      std::swap(members, others);
    }
    members->insert(members->end(), others->begin(), others->end());
    return std::make_unique<Group>(Library::get().unserved_calls().make_group(*members, rank));
  } catch (const NativeFailure&) {
    return nullptr;
  }
}

}  // namespace

thread_local constinit Communicator::LastUsed Communicator::last_used_{};
thread_local constinit Communicator::LastUsed Communicator::last_seen_{};
std::atomic<std::uint64_t> Communicator::generation_ = 1, Communicator::members_ = 1;
thread_local constinit const Communicator::Leaving* Communicator::Leaving::innermost_ = nullptr;

int Communicator::on_free(MPI_Comm, int, void* state, void*) {
  forget();
  auto* const communicator = static_cast<Communicator*>(state);
  communicator->is_freed_ = true;
  if (!communicator->is_leaving_) delete communicator;
  return MPI_SUCCESS;
}

// Made once, when the first communicator is looked up; MPI_KEYVAL_INVALID when that failed.
int Communicator::keyval() {
  static const int made = make_keyval(on_free);
  return made;
}

Communicator::Leaving::Leaving(MPI_Comm comm) : comm_(comm), communicator_(find_existing(comm)), outer_(innermost_) {
  if (communicator_ != nullptr) communicator_->is_leaving_ = true;
  if (communicator_ != nullptr && communicator_->engine_ != nullptr) communicator_->engine_->stop_showing();
  innermost_ = this;
  forget();
}

Communicator::Leaving::~Leaving() {
  innermost_ = outer_;
  forget();
  if (communicator_ == nullptr) return;
  communicator_->is_leaving_ = false;
  if (communicator_->is_freed_) delete communicator_;
}

const Communicator::Leaving* Communicator::Leaving::find(MPI_Comm comm) {
  const Leaving* leaving = innermost_;
  while (leaving != nullptr && leaving->comm_ != comm) leaving = leaving->outer_;
  return leaving;
}

Communicator::Known Communicator::look_up(MPI_Comm comm) {
  if (comm == native().comm_null || !Library::get().is_running() || keyval() == MPI_KEYVAL_INVALID) return {};
  if (const Leaving* leaving = Leaving::find(comm)) return {true, true, leaving->communicator_};
  void* value = nullptr;
  int is_known = 0;
  if (native().Comm_get_attr(comm, keyval(), &value, &is_known) != MPI_SUCCESS) return {};
  return {true, false, is_known ? static_cast<Communicator*>(value) : nullptr};
}

Communicator* Communicator::find_existing_slowly(MPI_Comm comm) {
  const std::uint64_t generation = members_.load(std::memory_order_acquire);
  const Known known = look_up(comm);
  if (known.communicator != nullptr && !known.is_leaving) last_seen_ = {comm, known.communicator, generation};
  return known.communicator;
}

Communicator* Communicator::find_set_up(MPI_Comm comm) { return find_slowly(comm, {}); }

Communicator* Communicator::find_slowly(MPI_Comm comm, const Question& question) {
  // While calls are pending nothing is remembered, so that every call comes by here: it waits until those before it on
  // its communicator are over.
  if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
  const std::uint64_t generation = ProgressQueue::is_busy() ? 0 : generation_.load(std::memory_order_acquire);
  const Known known = look_up(comm);
  if (!known.is_valid || known.is_leaving) return known.communicator;
  Communicator* communicator = known.communicator;
  if (communicator == nullptr) {
    const int calls = question.ask == nullptr ? 0 : calls_before_set_up(comm);
    if (calls == 0 && question.is_refused()) return nullptr;
    communicator = calls == 0 ? set_up_and_keep(comm, question) : keep(comm, make_new(calls));
  }
  if (communicator != nullptr && communicator->native_calls_ > 0) {
    if (question.ask != nullptr && communicator->native_calls_ > 1) {
      --communicator->native_calls_;
      return communicator;
    }
    if (question.is_refused()) return nullptr;
    communicator = set_up_and_keep(comm, question);
  }
  if (communicator != nullptr) last_used_ = {comm, communicator, generation};
  return communicator;
}

Communicator::Readiness::Readiness(MPI_Comm comm) : comm_(comm) {}
Communicator::Readiness::~Readiness() = default;

// As find_slowly(). Where set-up has to wait, a blocking call has to come first.
void Communicator::Readiness::begin() {
  const Known known = look_up(comm_);
  if (!known.is_valid || known.is_leaving) return;
  Communicator* communicator = known.communicator;
  if (communicator == nullptr) {
    communicator = keep(comm_, make_new(calls_before_set_up(comm_)));
    if (communicator != nullptr) communicator->count_call();
  }
  if (communicator == nullptr || communicator->native_calls_ == 0) return;
  if (communicator->native_calls_ > 1)
    --communicator->native_calls_;
  else
    set_up_ = GradualSetUp::begin(comm_);
}

std::optional<Communicator*> Communicator::Readiness::find() {
  if (!std::exchange(has_begun_, true)) begin();
  if (set_up_ != nullptr) {
    std::unique_ptr<Communicator> state = set_up_->advance();
    if (state == nullptr) return std::nullopt;
    keep(comm_, std::move(state));
    set_up_.reset();
  }
  const Known known = look_up(comm_);
  Communicator* const communicator = known.is_leaving ? nullptr : known.communicator;
  const bool needs_supplies = communicator != nullptr && communicator->may_start();
  if (needs_supplies && !communicator->engine_->supply_runs()) return std::nullopt;
  return communicator;
}

bool Communicator::is_refusal(int code) { return mpi::is_refusal(code); }

// Its ranks wait for each other, which others are to see.
Communicator* Communicator::set_up_and_keep(MPI_Comm comm, const Question& question) {
  if (question.ask == nullptr) return keep(comm, set_up(comm));
  Observer::note_coming();
  Communicator* const before = look_up(comm).communicator;
  Communicator* const shown = before != nullptr ? before : keep(comm, make_new(0));
  Mark mark;
  if (shown != nullptr) mark = shown->begin(Doing::set_up, question.tell(question.call), shown->calls_ + 1);
  std::unique_ptr<Communicator> state = set_up(comm);
  mark.end(MPI_SUCCESS);
  return keep(comm, std::move(state));
}

// As the communicator's attribute, in the place of what was kept before. Null: native refuses attributes.
Communicator* Communicator::keep(MPI_Comm comm, std::unique_ptr<Communicator> state) {
  const Known before = look_up(comm);
  if (before.communicator != nullptr) state->calls_ = before.communicator->calls_;
  if (state->line_ == nullptr)
    state->group_ = before.communicator != nullptr ? std::move(before.communicator->group_) : find_group(comm);
  Communicator* const kept = state.release();
  forget();
  if (native().Comm_set_attr(comm, keyval(), kept) != MPI_SUCCESS) return nullptr;
  if (kept->engine_ != nullptr) Observer::follow(comm, *kept->engine_);
  return kept;
}

std::unique_ptr<Communicator> Communicator::make_new(int native_calls) {
  const std::string& abstention = Library::get().abstention();
  auto state = std::make_unique<Communicator>(
      abstention.empty() ? "its first calls: set-up has to be worth it (ESPALIER_SETUP_CALLS)" : abstention);
  state->native_calls_ = native_calls + 1;
  return state;
}

Communicator::Communicator(std::string refusal) : refusal_(std::move(refusal)) {
  passed_.select([](const plan::Call&) { return tune::Natives::all; });
  Library::get().enlist(this);
}

Communicator::Communicator(BoardMemory memory, Means means) : memory_(std::move(memory)) {
  Library& library = Library::get();
  if (means.watch != nullptr) {
    line_ = &means.watch->line();
    means.watch->count_by(calls_);
    if (means.watch->is_of_all())
      library.unserved_calls().open({library.home_arena(), line_->community, line_->pid, line_->world_rank});
  }
  engine_ = std::make_unique<Engine>(std::move(means), library.policy(), library.budget(), library.statistics());
  me_ = engine_->me().value;
  learn_natives();
  library.enlist(this);
}

Communicator::~Communicator() {
  Library::get().dismiss(this);
  report();
}

void Communicator::show_finalization() noexcept {
  const Communicator* const world = find_existing(native().comm_world);
  if (world == nullptr || world->engine_ == nullptr || world->line_ == nullptr) return;
  const std::uint64_t word = world->line_->left.load(std::memory_order_relaxed);
  const std::uint64_t at = execute::LeftToMpi::begin(word, Doing::finalization, {});
  world->line_->left.store(at, std::memory_order_relaxed);
  world->engine_->stay_in_view();
}

// An error's handler may have freed the communicator. What was refused is taken back whether it was shown or not: all
// ranks are to be set up in the same call.
void Communicator::Mark::end_with_error(int code) const noexcept {
  const bool is_there = communicator_ != nullptr && members_ == Communicator::members_.load(std::memory_order_acquire);
  const bool is_no_call = doing_ == Doing::call && is_refusal(code);
  UnservedCalls& unserved = Library::get().unserved_calls();
  if (unserved_ != nullptr)
    is_no_call ? unserved.take_back(*unserved_) : unserved.end(*unserved_);
  else if (is_there && word_ != nullptr)
    word_->store(execute::LeftToMpi::end(is_no_call ? at_ - 1 : at_), std::memory_order_relaxed);
  if (is_there && is_no_call) communicator_->take_back(code);
}

void Communicator::begin_unserved(Mark& mark, Doing doing, const plan::Call& call) const noexcept {
  mark.unserved_ = Library::get().unserved_calls().begin(*group_, doing, call);
  if (mark.unserved_ == nullptr) return;
  mark.word_ = &mark.unserved_->left;
  mark.at_ = mark.word_->load(std::memory_order_relaxed);
}

void Communicator::select(plan::Operation operation, std::optional<Selection> selection) {
  engine_->select(operation, std::move(selection));
  learn_natives();
}

void Communicator::learn_natives() {
  passed_.select(
      [&](const plan::Call& kind) { return engine_->decider().natives_of(kind.operation, kind.has_counts()); });
}

void Communicator::report() {
  const std::string reason = engine_ ? native_selected : refusal_;
  passed_.for_each([&](const plan::Call& kind, Passed& passed) {
    Library::get().statistics().add_native(kind.operation, reason, passed.take_calls());
  });
  if (!engine_) return;
  engine_->report();
  Library::get().experience().add(engine_->derive_learned());
}

}  // namespace espalier::mpi
