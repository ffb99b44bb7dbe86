#include "mpi/communicator.hpp"

#include <utility>

#include "mpi/library.hpp"
#include "mpi/setup.hpp"

namespace espalier::mpi {
namespace {

// Duplicates start without state of their own: a duplicate's messages and calls must not mix with ours.
int do_not_copy(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int on_free(MPI_Comm, int, void* communicator, void*) {
  Communicator::forget_last_used();
  delete static_cast<Communicator*>(communicator);
  return MPI_SUCCESS;
}

// Made once, when the first communicator is looked up; MPI_KEYVAL_INVALID when that failed.
int keyval() {
  static const int made = [] {
    int fresh = MPI_KEYVAL_INVALID;
    native().Comm_create_keyval(do_not_copy, on_free, &fresh, nullptr);
    return fresh;
  }();
  return made;
}

/// What the attribute says.
struct Known {
  bool is_valid = false;  ///< MPI could answer at all
  Communicator* communicator = nullptr;
};

Known look_up(MPI_Comm comm) {
  if (comm == native().comm_null || !Library::get().is_running() || keyval() == MPI_KEYVAL_INVALID) return {};
  void* value = nullptr;
  int is_known = 0;
  if (native().Comm_get_attr(comm, keyval(), &value, &is_known) != MPI_SUCCESS) return {};
  return {true, is_known ? static_cast<Communicator*>(value) : nullptr};
}

}  // namespace

thread_local constinit Communicator::LastUsed Communicator::last_used_{};
std::atomic<std::uint64_t> Communicator::generation_ = 1;

Communicator* Communicator::find_existing(MPI_Comm comm) { return look_up(comm).communicator; }

Communicator* Communicator::find_slowly(MPI_Comm comm) {
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  Known known = look_up(comm);
  if (!known.is_valid) return nullptr;
  if (known.communicator == nullptr) {
    known.communicator = set_up(comm).release();
    if (native().Comm_set_attr(comm, keyval(), known.communicator) != MPI_SUCCESS) return nullptr;
  }
  last_used_ = {comm, known.communicator, generation};
  return known.communicator;
}

Communicator::Communicator(std::string refusal) : refusal_(std::move(refusal)) {
  passed_.for_each([](const Form&, Passed& passed) { passed.select(tune::Natives::all); });
  Library::get().enlist(this);
}

Communicator::Communicator(BoardMemory memory, Means means) : memory_(std::move(memory)) {
  Library& library = Library::get();
  engine_ = std::make_unique<Engine>(std::move(means), library.policy(), library.budget(), library.statistics());
  me_ = engine_->me().value;
  learn_natives();
  library.enlist(this);
}

Communicator::~Communicator() {
  Library::get().dismiss(this);
  report();
}

void Communicator::select(plan::Operation operation, std::optional<Selection> selection) {
  engine_->select(operation, std::move(selection));
  learn_natives();
}

void Communicator::learn_natives() {
  passed_.for_each(
      [&](const Form& form, Passed& passed) { passed.select(engine_->natives_of(form.operation, form.has_counts)); });
}

void Communicator::report() {
  const std::string reason = engine_ ? "native was selected" : refusal_;
  passed_.for_each([&](const Form& form, Passed& passed) {
    Library::get().statistics().add_native(form.operation, reason, passed.take_calls());
  });
  if (engine_) engine_->report();
}

}  // namespace espalier::mpi
