#pragma once
// UCX's context, one for the process, and worker, one for each network.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transports/ucx/api.hpp"

namespace espalier::transports::ucx {

/// Throws Error "UCX <what>: <its reason>" unless the status is fine.
void check(ucs_status_t status, const char* what);

/// Devices and registrations, shared by all networks of the process while there are any. Thread safe.
class Context {
 public:
  /// Throws Error.
  static std::shared_ptr<Context> share();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ucp_context_h handle() const { return handle_; }

 private:
  Context();
  ucp_context_h handle_ = nullptr;
};

/// What makes messages move. One thread at a time.
class Worker {
 public:
  /// Throws Error.
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::shared_ptr<Context>& context() const { return context_; }
  ucp_worker_h handle() const { return handle_; }
  /// How others make endpoints to it. Throws Error.
  std::vector<std::byte> address() const;
  void progress() noexcept { api_.ucp_worker_progress(handle_); }

 private:
  const Api& api_ = api();
  std::shared_ptr<Context> context_;
  ucp_worker_h handle_ = nullptr;
};

}  // namespace espalier::transports::ucx
