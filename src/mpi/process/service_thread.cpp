#include "mpi/process/service_thread.hpp"

#include <dlfcn.h>

#include <csignal>
#include <utility>

namespace espalier::mpi {
namespace {

/// Where the C library has threads in a library of their own (glibc before 2.34), MPI has loaded that: this one need
/// not ask every program for it.
template <class Function>
Function* find_function(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool ServiceThread::start(const char* name, void* (*work)(void*), void* argument) noexcept {
  auto* const create = find_function("pthread_create", &pthread_create);
  if (is_running_ || create == nullptr) return false;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  is_running_ = create(&thread_, nullptr, work, argument) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (auto* const set_name = find_function("pthread_setname_np", &pthread_setname_np); is_running_ && set_name)
    set_name(thread_, name);
  return is_running_;
}

void ServiceThread::join() noexcept {
  if (!std::exchange(is_running_, false)) return;
  if (auto* const join = find_function("pthread_join", &pthread_join)) join(thread_, nullptr);
}

}  // namespace espalier::mpi
