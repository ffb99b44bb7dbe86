#pragma once
// What a process has once: UCX's context and worker, and its links to other processes.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "transports/ucx/api.hpp"

namespace espalier::transports::ucx {

class Link;

/// Throws Error "UCX <what>: <its reason>" unless the status is fine.
void check(ucs_status_t status, const char* what);

/// Devices and registrations.
class Context {
 public:
  /// Throws Error.
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ucp_context_h handle() const { return handle_; }

 private:
  ucp_context_h handle_ = nullptr;
};

/// What makes messages move, of all communicators: so a rank that waits on one lets the others' writes arrive, and a
/// thousand communicators need no more sockets and queue pairs than one. UCX and all that its callbacks touch are used
/// with mutex() held.
class Worker {
 public:
  /// The process's worker, made with the first call and never destroyed: peers may still read what it wrote, and UCX
  /// may be unloaded before destructors of static objects run. Throws Error; the next call tries again. Any thread.
  static Worker& get();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::mutex& mutex() { return mutex_; }
  Context& context() { return context_; }
  ucp_worker_h handle() const { return handle_; }
  /// How others make links to it. Throws Error.
  std::vector<std::byte> address() const;
  /// The link to the process with that address, made when it is first asked for. `shared_memory` as in UcxOptions.
  /// Throws Error.
  Link& link(std::span<const std::byte> address, pid_t process, bool shared_memory);
  void progress() noexcept { api_.ucp_worker_progress(handle_); }

 private:
  Worker();
  ~Worker();

  const Api& api_ = api();
  std::mutex mutex_;
  Context context_;
  ucp_worker_h handle_ = nullptr;
  std::map<std::vector<std::byte>, std::unique_ptr<Link>> links_;  ///< by address and `shared_memory`
};

}  // namespace espalier::transports::ucx
