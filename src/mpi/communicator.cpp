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

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  native().Comm_create_keyval(do_not_copy, on_free, &keyval, nullptr);
  return keyval;
}

}  // namespace

thread_local Communicator::LastUsed Communicator::last_used_{};
std::atomic<std::uint64_t> Communicator::generation_ = 1;

Communicator* Communicator::find_slowly(MPI_Comm comm) {
  const Native& mpi = native();
  if (comm == mpi.comm_null || !Library::get().is_running()) return nullptr;
  static const int keyval = make_keyval();
  if (keyval == MPI_KEYVAL_INVALID) return nullptr;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  void* known = nullptr;
  int is_known = 0;
  if (mpi.Comm_get_attr(comm, keyval, &known, &is_known) != MPI_SUCCESS) return nullptr;
  auto* communicator = static_cast<Communicator*>(known);
  if (!is_known) {
    communicator = set_up(comm).release();
    if (mpi.Comm_set_attr(comm, keyval, communicator) != MPI_SUCCESS) return nullptr;
  }
  last_used_ = {comm, communicator, generation};
  return communicator;
}

Communicator::Communicator(std::string refusal) : refusal_(std::move(refusal)) { Library::get().enlist(this); }

Communicator::Communicator(BoardMemory memory, Means means) : memory_(std::move(memory)) {
  Library& library = Library::get();
  engine_ = std::make_unique<Engine>(std::move(means), library.policy(), library.budget(), library.statistics());
  library.enlist(this);
}

Communicator::~Communicator() {
  Library::get().dismiss(this);
  report();
}

void Communicator::report() {
  for (int i = 0; i < plan::operation_count; ++i)
    Library::get().statistics().add_native(static_cast<plan::Operation>(i), refusal_,
                                           std::exchange(refused_[static_cast<std::size_t>(i)], 0));
  if (engine_) engine_->report();
}

}  // namespace espalier::mpi
