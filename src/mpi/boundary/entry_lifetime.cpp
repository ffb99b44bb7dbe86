// Where MPI, and its communicators, begin and end. Nothing of these calls is changed; they tell us when.

#include <new>

#include "mpi/boundary/fortran.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/progress_thread.hpp"
#include "mpi/observe/observer.hpp"
#include "mpi/process/library.hpp"
#include "mpi/process/watchdog.hpp"

namespace espalier::mpi {
namespace {

/// Native's MPI_Init, and then the world meets.
template <class Init>
int begin(const Init& init) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr)
    return find_foreign() != nullptr ? init(*find_foreign_next()) : MPI_ERR_INTERN;  // it has been said why
  const int code = init(*mpi);
  if (code != MPI_SUCCESS) return code;
  try {
    Library::get().begin();
    Observer::start(Library::get());
    // Whoever does not come to its first call is seen, then, by those that do.
    if (Library::get().world().has_met()) Communicator::find_set_up(mpi->comm_world);
    start_watchdog();
  } catch (const std::bad_alloc&) {  // other ranks go on as if all had met, so MPI has not begun for this one
    return MPI_ERR_NO_MEM;
  }
  return code;
}

/// What native is asked for: all, where a thread of ours is to send messages, too.
int least_level(int required) {
  const bool has_thread = Library::get().settings().progress == ProgressMeans::thread;
  return has_thread ? MPI_THREAD_MULTIPLE : required;
}

int finish() noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  ProgressThread::stop();
  ProgressQueue::get().finish_all();
  Requests::get().clear();
  Observer::finish(Library::get());
  Library::get().prepare_to_finish();
  Communicator::show_finalization();
  const int code = mpi->Finalize();
  Library::get().finish();
  return code;
}

/// Native's way of giving a communicator up, during which its attributes' functions may use it.
template <class Free>
int leave(const MPI_Comm* comm, const Free& free) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;
  if (comm == nullptr || *comm == mpi->comm_null || !Library::get().is_running()) return free(*mpi);
  ProgressQueue::get().finish_channels(*comm);
  const Communicator::Leaving leaving(*comm);
  return free(*mpi);
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

ESPALIER_CALL(Init, (int* count, char*** words), (count, words)) {
  return begin([&](const Native& mpi) {
    int provided = MPI_THREAD_SINGLE;
    if (least_level(provided) == provided) return mpi.Init(count, words);
    return mpi.Init_thread(count, words, MPI_THREAD_MULTIPLE, &provided);
  });
}

ESPALIER_CALL(Init_thread, (int* count, char*** words, int required, int* provided),
              (count, words, required, provided)) {
  return begin([&](const Native& mpi) { return mpi.Init_thread(count, words, least_level(required), provided); });
}

ESPALIER_CALL(Finalize, (), ()) { return finish(); }

ESPALIER_CALL(Comm_free, (MPI_Comm * comm), (comm)) {
  return leave(comm, [&](const Native& mpi) { return mpi.Comm_free(comm); });
}

ESPALIER_CALL(Comm_disconnect, (MPI_Comm * comm), (comm)) {
  return leave(comm, [&](const Native& mpi) { return mpi.Comm_disconnect(comm); });
}

#if defined(OPEN_MPI)

// Open MPI's Fortran calls PMPI functions: what is written here is what its own wrappers do.
namespace espalier::mpi {
namespace {

void leave_from_fortran(MPI_Fint* handle, MPI_Fint* error, int (*leave)(MPI_Comm*)) {
  if (find_native() == nullptr) {
    *error = MPI_ERR_INTERN;
    return;
  }
  MPI_Comm comm = native().Comm_f2c(*handle);
  *error = leave(&comm);
  if (*error == MPI_SUCCESS) *handle = native().Comm_c2f(comm);
}

}  // namespace
}  // namespace espalier::mpi

ESPALIER_SPELLINGS(init, INIT, (MPI_Fint * error), (error), *error = MPI_Init(nullptr, nullptr);)
ESPALIER_SPELLINGS(init_thread, INIT_THREAD, (MPI_Fint * required, MPI_Fint* provided, MPI_Fint* error),
                   (required, provided, error), *error = MPI_Init_thread(nullptr, nullptr, *required, provided);)
ESPALIER_SPELLINGS(finalize, FINALIZE, (MPI_Fint * error), (error), *error = MPI_Finalize();)
ESPALIER_SPELLINGS(comm_free, COMM_FREE, (MPI_Fint * comm, MPI_Fint* error), (comm, error),
                   leave_from_fortran(comm, error, MPI_Comm_free);)
ESPALIER_SPELLINGS(comm_disconnect, COMM_DISCONNECT, (MPI_Fint * comm, MPI_Fint* error), (comm, error),
                   leave_from_fortran(comm, error, MPI_Comm_disconnect);)

#elif !defined(MPI_ABI)

// So does `mpi_f08` of MPICH's ABI, where a Fortran handle is the C handle.
ESPALIER_EXPORT void mpi_init_f08_(MPI_Fint* error) { give_code(MPI_Init(nullptr, nullptr), error); }
ESPALIER_EXPORT void mpi_init_thread_f08_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  give_code(MPI_Init_thread(nullptr, nullptr, *required, provided), error);
}
ESPALIER_EXPORT void mpi_finalize_f08_(MPI_Fint* error) { give_code(MPI_Finalize(), error); }
ESPALIER_EXPORT void mpi_comm_free_f08_(MPI_Comm* comm, MPI_Fint* error) {
  if (!leave_alone("mpi_comm_free_f08_", comm, error)) give_code(MPI_Comm_free(comm), error);
}
ESPALIER_EXPORT void mpi_comm_disconnect_f08_(MPI_Comm* comm, MPI_Fint* error) {
  if (leave_alone("mpi_comm_disconnect_f08_", comm, error)) return;
  give_code(MPI_Comm_disconnect(comm), error);
}

#endif
